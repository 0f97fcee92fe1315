import Foundation
import Testing

@testable import URLLoading

@Suite struct URLResponseTests {
    @Test func valuesPassThrough() throws {
        let url = try #require(URL(string: "https://example.com/a.txt"))
        let response = URLResponse(
            url: url, mimeType: "text/plain", expectedContentLength: 5, textEncodingName: "utf-8")
        #expect(response.url == url)
        #expect(response.mimeType == "text/plain")
        #expect(response.expectedContentLength == 5)
        #expect(response.textEncodingName == "utf-8")
        #expect(response.copy() as AnyObject === response)
        #expect(NSURLResponseUnknownLength == -1)
        #expect(NSURLSessionTransferSizeUnknown == -1)
    }

    // MISC-12
    @Test(arguments: [
        ("a/test/name.extension", "name.extension"), ("a/test/name.extension?foo=bar", "name.extension"),
        ("a://bar", "Unknown"), ("http://example.com/", "Unknown"), ("http://example.com/a%2Fb.txt", "a_b.txt"),
    ])
    func suggestedFilenames(_ address: String, _ name: String) throws {
        let response = URLResponse(
            url: try #require(URL(string: address)), mimeType: nil, expectedContentLength: 0, textEncodingName: nil)
        #expect(response.suggestedFilename == name)
    }

    // MISC-24
    @Test func survivesCoding() throws {
        let url = try #require(URL(string: "https://example.com/"))
        let response = URLResponse(url: url, mimeType: "a/b", expectedContentLength: -1, textEncodingName: nil)
        let data = try NSKeyedArchiver.archivedData(withRootObject: response, requiringSecureCoding: true)
        let decoded = try NSKeyedUnarchiver.unarchivedObject(ofClass: URLResponse.self, from: data)
        #expect(decoded == response)
        #expect(decoded?.mimeType == "a/b")
        #expect(decoded?.textEncodingName == nil)
    }

    // MISC-12: also from untrusted archives
    @Test("the file name of an archive", arguments: [("kept.txt", "kept.txt"), ("../../up", "up"), ("", "Unknown")])
    func archivedFilename(_ archived: String, _ name: String) throws {
        let url = try #require(URL(string: "https://example.com/"))
        let http = HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: nil)
        let plain = URLResponse(url: url, mimeType: nil, expectedContentLength: -1, textEncodingName: nil)
        for response in [plain, try #require(http)] {
            let archiver = NSKeyedArchiver(requiringSecureCoding: true)
            archiver.outputFormat = .xml
            archiver.encode(response, forKey: NSKeyedArchiveRootObjectKey)
            let text = String(decoding: archiver.encodedData, as: UTF8.self)
            try #require(text.contains(">Unknown<"))
            let changed = Data(text.replacingOccurrences(of: ">Unknown<", with: ">\(archived)<").utf8)
            let read = try NSKeyedUnarchiver.unarchivedObject(ofClass: URLResponse.self, from: changed)
            #expect(read?.suggestedFilename == name)
        }
    }
}
