import Foundation
import FoundationNetworking

private func made(_ fields: [String: String], _ address: String = "http://a.example/path/file.txt", _ status: Int = 200)
    throws -> HTTPURLResponse
{
    let url = try unwrap(URL(string: address), "URL")
    return try unwrap(
        HTTPURLResponse(url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: fields), "response")
}

private func loaded(_ fields: [(String, String)], path: String = "/", _ body: String = "body") async throws
    -> HTTPURLResponse
{
    let server = try Server(Response(200, fields, body))
    return try unwrap(await makeSession().load(server.url(path)).http, "response")
}

let responseCases: [Case] = [
    Case("MISC-8", name: "a response's fields are found without regard to case") {
        let response = try await loaded([("x-CuStOm", "a"), ("CONTENT-type", "text/plain")])
        try equal(response.value(forHTTPHeaderField: "X-Custom"), "a", "X-Custom")
        try equal(response.value(forHTTPHeaderField: "content-TYPE"), "text/plain", "Content-Type")
        try equal(response.value(forHTTPHeaderField: "X-None"), nil, "a field that is not there")
    },
    Case("MISC-8", name: "names of known fields are capitalised") {
        let response = try await loaded([
            ("content-type", "text/plain"), ("www-authenticate", "Basic"), ("etag", "\"a\""),
        ])
        try equal(response.allHeaderFields["Content-Type"] as? String, "text/plain", "Content-Type")
        try equal(response.allHeaderFields["WWW-Authenticate"] as? String, "Basic", "WWW-Authenticate")
        try equal(response.allHeaderFields["Etag"] as? String, "\"a\"", "Etag")
    },
    Case("MISC-9", name: "repeated fields are joined") {
        let response = try await loaded([("X-Name", "a"), ("X-Other", "o"), ("X-Name", "c")])
        try equal(response.value(forHTTPHeaderField: "X-Name"), "a, c", "X-Name")
    },
    Case("MISC-9", name: "repeated fields are joined, whatever the case of their names") {
        let response = try await loaded([("X-Name", "a"), ("x-name", "b"), ("X-Name", "c")])
        try equal(response.value(forHTTPHeaderField: "X-Name"), "a, b, c", "X-Name")
    },
    Case("MISC-10", name: "mimeType and textEncodingName") {
        let response = try await loaded([("Content-Type", "TEXT/HTML; Charset=\"UTF-8\"; a=b")])
        try equal(response.mimeType, "text/html", "mimeType")
        try equal(response.textEncodingName?.lowercased(), "utf-8", "textEncodingName")
        try equal(
            try await loaded([("Content-Type", "text/plain")]).textEncodingName, nil, "textEncodingName without charset"
        )
    },
    Case("MISC-13", "T-16", name: "expectedContentLength") {
        try equal(try await loaded([], "hello").expectedContentLength, 5, "with Content-Length")
        let chunked = try Server(.raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n"))
        try equal(await makeSession().load(chunked.url()).http?.expectedContentLength, -1, "chunked")
        try equal(try made(["content-length": "1234"]).expectedContentLength, 1234, "of the initializer")
        try equal(try made([:]).expectedContentLength, -1, "of the initializer, without a field")
    },
    Case("MISC-12", name: "suggestedFilename by Content-Disposition") {
        for (value, name) in [
            ("attachment; filename=a.txt", "a.txt"), ("attachment; filename=\"b c.txt\"", "b c.txt"),
            ("attachment; aa=bb; filename=\"x/y.txt\"", "x_y.txt"),
        ] {
            try equal(try made(["Content-Disposition": value]).suggestedFilename, name, value)
        }
    },
    Case("MISC-12", name: "suggestedFilename with escaped quotes, and a parameter in upper case") {
        let response = try made(["Content-Disposition": "inline; FILENAME=\"d \\\"e\\\".txt\""])
        try equal(response.suggestedFilename, "d \"e\".txt", "name")
    },
    Case("MISC-12", name: "suggestedFilename by the URL") {
        try equal(try made([:]).suggestedFilename, "file.txt", "of the last component")
        let named = try await loaded([("Content-Type", "text/plain")], path: "/dir/report.txt")
        try equal(named.suggestedFilename, "report.txt", "of a loaded response")
    },
    Case("MISC-12", name: "suggestedFilename by filename* of RFC 8187") {
        let response = try made(["Content-Disposition": "attachment; filename=\"e.txt\"; filename*=UTF-8''%c3%a9.txt"])
        try equal(response.suggestedFilename, "é.txt", "name")
    },
    Case("MISC-14", name: "localizedString(forStatusCode:)") {
        try equal(HTTPURLResponse.localizedString(forStatusCode: 404).lowercased(), "not found", "404")
    },
    Case("MISC-8", name: "a response that is made keeps status, URL and fields") {
        let response = try made(["X-Name": "a"], "http://a.example/b", 418)
        try equal(response.statusCode, 418, "statusCode")
        try equal(response.url?.absoluteString, "http://a.example/b", "url")
        try equal(response.value(forHTTPHeaderField: "x-name"), "a", "X-Name")
    },
    Case("MISC-24", name: "a response survives an archive") {
        let response = try made(["X-Name": "a", "Content-Type": "text/plain"], "http://a.example/b", 418)
        let data = try NSKeyedArchiver.archivedData(withRootObject: response, requiringSecureCoding: true)
        let again = try NSKeyedUnarchiver.unarchivedObject(ofClass: HTTPURLResponse.self, from: data)
        try equal(again?.statusCode, 418, "statusCode")
        try equal(again?.value(forHTTPHeaderField: "X-Name"), "a", "X-Name")
        try equal(again?.mimeType, "text/plain", "mimeType")
        try equal(again?.url, response.url, "url")
    },
    Case("T-12", name: "a response has the URL that was loaded") {
        let server = try Server(Response(200))
        let url = server.url("/a?b=c")
        try equal(await makeSession().load(url).http?.url, url, "url")
    },
    Case("MISC-16", "S-4", name: "a data: URL is loaded") {
        for (address, body) in [
            ("data:text/html,a%20b", "a b"), ("data:text/plain;base64,aGVsbG8=", "hello"), ("data:,x", "x"),
        ] {
            let outcome = await makeSession().load(try unwrap(URL(string: address), "URL"))
            try equal(outcome.text, body, "body of \(address)")
            try check(outcome.http == nil, "an HTTP response")
        }
    },
    Case("MISC-16", name: "the type of a data: URL is that of its response") {
        for (address, type) in [("data:text/html,a", "text/html"), ("data:,a", "text/plain")] {
            let outcome = await makeSession().load(try unwrap(URL(string: address), "URL"))
            try equal(outcome.response?.mimeType, type, "mimeType of \(address)")
        }
    },
    Case("MISC-15", "S-4", name: "a file: URL is loaded") {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("file.txt")
        try Data("hello".utf8).write(to: file)
        let outcome = await makeSession().load(file)
        try equal(outcome.text, "hello", "body")
        try equal(outcome.response?.expectedContentLength, 5, "expectedContentLength")
        try equal(outcome.response?.mimeType, "text/plain", "mimeType")
        try check(outcome.response != nil && outcome.http == nil, "an HTTP response")
    },
    Case("MISC-15", "S-4", name: "a file: URL is downloaded") {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("file.txt")
        try Data("hello".utf8).write(to: file)
        let recorder = Recorder()
        makeSession(recorder).downloadTask(with: file).resume()
        await recorder.completion()
        try equal(text(recorder.seen.file), "hello", "file")
    },
    Case("MISC-23", name: "each part of multipart/x-mixed-replace has a response") {
        let parts =
            "--b\r\nContent-Type: text/plain\r\n\r\none\r\n--b\r\nContent-Type: text/html\r\n\r\ntwo\r\n--b--\r\n"
        let server = try Server(Response(200, [("Content-Type", "multipart/x-mixed-replace; boundary=b")], parts))
        let recorder = Recorder()
        await run(server.url(), recorder)
        try equal(
            recorder.events.filter { $0 == "response" || $0 == "data" }, ["response", "data", "response", "data"],
            "callbacks")
        try equal(recorder.seen.responses.map(\.mimeType), ["text/plain", "text/html"], "types")
        try equal(text(recorder.seen.data), "onetwo", "bodies")
    },
]
