import Foundation
import TestSupport
import Testing

/// `--trace`: every call of the delegate, with times and threads left out here.
@Suite struct TraceTests {
    /// The lines without their first two columns.
    private func calls(_ output: String) throws -> [String] {
        try output.split(separator: "\n").map { line in
            let text = String(line)
            guard let end = text.range(of: "]  ") else { return text }
            let pattern = #"^ *[0-9]+\.[0-9]{3} ms  \[thread [0-9]+(, [^\]]+)?\]  "#
            try #require(text.range(of: pattern, options: .regularExpression) != nil, "\(text)")
            return String(text[end.upperBound...])
        }
    }

    // S-50, S-58: redirect, response, body, end; no user information, no field
    @Test("a get, with a redirect") func aGetWithARedirect() throws {
        let harness = try CommandHarness(
            .answering { request in
                request.path == "/a"
                    ? .redirect(to: "/b").with(field: "Set-Cookie", "s3cret=1") : .text("hello")
            })
        defer { harness.server.stop() }
        let url = harness.server.url("/a").absoluteString.replacing("http://", with: "http://me:s3cret@")
        let (exit, output) = try harness.run("get", url, "-o", harness.target.path, "--trace", "-H", "Cookie: s3cret=2")
        #expect(exit == .code(0))
        let redirection = "urlSession(_:task:willPerformHTTPRedirection:newRequest:completionHandler:)"
        let response = "urlSession(_:dataTask:didReceive:completionHandler:)"
        #expect(
            try calls(output).map { $0.replacing(#/[0-9.]+ ms/#, with: "N ms") } == [
                "urlSession(_:didCreateTask:)  task 1, GET http://[redacted]@PLACE/a",
                "\(redirection)  task 1, 302 to GET SERVER/b",
                "  answer to \(redirection)  GET SERVER/b",
                "\(response)  task 1, 200, text/plain, 5 bytes expected",
                "  answer to \(response)  allow",
                "urlSession(_:dataTask:didReceive:)  task 1, 5 bytes",
                "urlSession(_:task:didFinishCollecting:)  task 1, 2 transactions, 1 redirect, N ms",
                "urlSession(_:task:didCompleteWithError:)  task 1, no error",
                "urlSession(_:didBecomeInvalidWithError:)  no error",
            ])
        #expect(!output.contains("s3cret"))
    }

    // S-50, S-70
    @Test("a download") func aDownload() throws {
        let harness = try CommandHarness(.answering(.text("hello")))
        defer { harness.server.stop() }
        let (exit, output) = try harness.download("--trace", "-s")
        #expect(exit == .code(0))
        let lines = try calls(output).map {
            $0.replacing(#/[0-9.]+ ms/#, with: "N ms").replacing(#/CFNetworkDownload_[^.]+/#, with: "NAME")
        }
        #expect(
            lines == [
                "urlSession(_:didCreateTask:)  task 1, GET SERVER/file",
                "urlSession(_:downloadTask:didWriteData:totalBytesWritten:totalBytesExpectedToWrite:)  "
                    + "task 1, 5 bytes, 5 of 5",
                "urlSession(_:downloadTask:didFinishDownloadingTo:)  task 1, NAME.tmp",
                "urlSession(_:task:didFinishCollecting:)  task 1, 1 transaction, 0 redirects, N ms",
                "urlSession(_:task:didCompleteWithError:)  task 1, no error",
                "urlSession(_:didBecomeInvalidWithError:)  no error",
            ])
    }

    // S-52, T-31
    @Test("an upload") func anUpload() throws {
        let harness = try CommandHarness(.answering { try .echo($0) })
        defer { harness.server.stop() }
        let file = try harness.folder.write("some text", to: "body")
        let (exit, output) = try harness.run(
            "upload", file.path, harness.server.url("/file").absoluteString, "--trace", "-o", harness.target.path)
        #expect(exit == .code(0))
        let sent = try calls(output).filter { $0.contains("didSendBodyData") }
        #expect(
            sent == [
                "urlSession(_:task:didSendBodyData:totalBytesSent:totalBytesExpectedToSend:)  task 1, 9 bytes, 9 of 9"
            ])
        let request = try #require(harness.server.connections.first?.requests.first)
        #expect(request.method == "PUT")
        #expect(request["Content-Type"] == "application/octet-stream")
        #expect(request.body == Array("some text".utf8))
    }

    // T-51: with or without a trace a body goes out again
    @Test("a body that is needed again", arguments: ["-v", "--trace"]) func aBodyThatIsNeededAgain(
        option: String
    ) throws {
        let harness = try CommandHarness(
            .answering { $0.path == "/file" ? .redirect(to: "/b", status: 307) : try .echo($0) })
        defer { harness.server.stop() }
        let file = try harness.folder.write("some text", to: "body")
        let url = harness.server.url("/file").absoluteString
        let (exit, output) = try harness.run("post", url, "-d", "@" + file.path, "-o", harness.target.path, option)
        #expect(exit == .code(0))
        #expect(try String(contentsOf: harness.target, encoding: .utf8).contains("some text"))
        #expect(output.contains("urlSession(_:task:needNewBodyStream:)  task 1") == (option == "--trace"))
    }
}
