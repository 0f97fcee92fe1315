import Foundation
import LoadingSemantics
import Testing

@testable import URLLoading

@Suite struct HTTPURLResponseTests {
    let url = URL(string: "https://example.com/dir/page")!

    private func response(
        _ fields: [(String, String)], url: URL? = nil, startOfBody: String = ""
    ) -> HTTPURLResponse {
        HTTPURLResponse(
            url: url ?? self.url, status: 200, version: "HTTP/1.1", fields: HTTPFields(fields),
            expectedContentLength: -1, startOfBody: Array(startOfBody.utf8))
    }

    // MISC-8, MISC-9: the values of many fields are found by a table once some were asked for
    @Test func manyFieldsHaveTheSameValuesAtEachReading() {
        var fields = (0..<40).map { ("X-\($0)", "\($0)") }
        fields += [("x-7", "again"), ("Set-Cookie", "a=1"), ("SET-COOKIE", "b=2")]
        let response = response(fields)
        for _ in 0..<3 {
            #expect(
                (0..<40).map { response.value(forHTTPHeaderField: "x-\($0)") }
                    == (0..<40).map { $0 == 7 ? "7, again" : "\($0)" })
            #expect(response.value(forHTTPHeaderField: "set-Cookie") == "a=1, b=2")
            #expect(response.value(forHTTPHeaderField: "absent") == nil)
            // The Kelvin sign is no K.
            #expect(response.value(forHTTPHeaderField: "Set-Coo\u{212A}ie") == nil)
        }
    }

    // MISC-8, MISC-9
    @Test func fieldsAreCanonicalAndJoined() {
        let response = response([
            ("content-TYPE", "text/html"), ("set-cookie", "a=1"), ("X-custom-Name", "1"), ("www-authenticate", "Basic"),
            ("Set-Cookie", "b=2"), ("x-CUSTOM-name", "2"), ("ETAG", "\"e\""), ("x-custom-name", "3"),
        ])
        #expect(
            response.allHeaderFields as? [String: String] == [
                "Content-Type": "text/html", "Set-Cookie": "a=1, b=2", "X-custom-Name": "1, 2, 3",
                "WWW-Authenticate": "Basic", "Etag": "\"e\"",
            ])
        #expect(response.value(forHTTPHeaderField: "SET-cookie") == "a=1, b=2")
        #expect(response.value(forHTTPHeaderField: "X-Custom-Name") == "1, 2, 3")
        #expect(response.value(forHTTPHeaderField: "absent") == nil)
        #expect(response.headerFields.name(at: 0) == "content-TYPE")
        #expect(response.httpVersion == "HTTP/1.1")
    }

    // MISC-10
    @Test(
        arguments: [
            ("Text/HTML; Charset=UTF-8", "text/html", "utf-8"), ("text/plain", "text/plain", nil),
            ("text/html; charset=\"ISO-8859-1\"; q=1", "text/html", "iso-8859-1"),
        ] as [(String, String, String?)])
    func contentType(_ value: String, _ mimeType: String, _ charset: String?) {
        let response = response([("Content-Type", value)])
        #expect(response.mimeType == mimeType)
        #expect(response.textEncodingName == charset)
    }

    // MISC-11
    @Test func absentTypesAreGuessed() {
        let picture = URL(string: "https://example.com/a.png")
        #expect(response([], url: picture).mimeType == "image/png")
        #expect(response([], startOfBody: "<!DOCTYPE html>").mimeType == "text/html")
        #expect(response([("X-Content-Type-Options", "nosniff")], startOfBody: "<html>").mimeType == nil)
        #expect(response([]).mimeType == nil)
        let octets = response([("Content-Type", "application/octet-stream")], url: picture, startOfBody: "<html>")
        #expect(octets.mimeType == "application/octet-stream")
    }

    // MISC-12
    @Test(arguments: [
        ("attachment; filename=\"report.pdf\"", "report.pdf"),
        ("attachment; filename=a.txt; filename*=UTF-8''%e2%82%ac.txt", "€.txt"),
        ("attachment; filename=\"../../etc/passwd\"", "___.._etc_passwd"), ("inline", "page.html"),
    ])
    func suggestedFilenames(_ disposition: String, _ name: String) {
        let response = response([("Content-Type", "text/html"), ("Content-Disposition", disposition)])
        #expect(response.suggestedFilename == name)
    }

    // MISC-13, ENC-6
    @Test(
        arguments: [
            (["Content-Length": "997"], 997), (["content-length": "0"], 0), ([:], -1), (["Content-Length": "-5"], -1),
            (["Content-Length": "abc"], -1), (["Content-Length": ""], -1),
            (["Content-Length": "99999999999999999999"], -1),
            (["Content-Length": "997", "Content-Encoding": "gzip"], 997),
        ] as [([String: String], Int64)])
    func announcedLength(_ fields: [String: String], _ length: Int64) {
        let response = HTTPURLResponse(url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: fields)
        #expect(response?.expectedContentLength == length)
    }

    @Test func publicInitialiser() {
        let response = HTTPURLResponse(url: url, statusCode: 999, httpVersion: nil, headerFields: nil)
        #expect(response?.statusCode == 999)
        #expect(response?.allHeaderFields.isEmpty == true)
        #expect(response?.url == url)
    }

    // MISC-14
    @Test func statusTexts() {
        #expect(HTTPURLResponse.localizedString(forStatusCode: 404) == "not found")
        #expect(HTTPURLResponse.localizedString(forStatusCode: 200) == "no error")
    }

    // MISC-24
    @Test func survivesCoding() throws {
        let original = response([("b", "1"), ("B", "2"), ("Content-Type", "text/html")])
        let data = try NSKeyedArchiver.archivedData(withRootObject: original, requiringSecureCoding: true)
        let object = try NSKeyedUnarchiver.unarchivedObject(ofClass: HTTPURLResponse.self, from: data)
        let decoded = try #require(object)
        #expect(decoded == original)
        #expect(decoded.statusCode == 200)
        #expect(decoded.mimeType == "text/html")
        #expect(decoded.value(forHTTPHeaderField: "b") == "1, 2")
    }

    /// The dictionary is built at most once, on any thread.
    @Test func concurrentUse() async {
        let response = response([("A", "1"), ("B", "2")])
        let counts = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<8 { group.addTask { response.allHeaderFields.count } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(counts == Array(repeating: 2, count: 8))
    }
}
