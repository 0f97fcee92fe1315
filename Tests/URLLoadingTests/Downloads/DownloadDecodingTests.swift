import Foundation
import TestSupport
import Testing
import URLLoading

/// Downloads that cannot be decoded: specific error codes (ERR-7), and no resume data.
@Suite(.leavesNothing) struct DownloadDecodingTests {
    private func calls(
        _ coding: String, _ body: [UInt8], _ make: (URLSession, URL) -> URLSessionTask
    ) async throws -> (calls: [Call], error: (any Error)?) {
        let server = try ScriptedServer.answering(CannedResponse.bytes(body).with(field: "Content-Encoding", coding))
        defer { server.stop() }
        let delegate = RecordingDownloadDelegate()
        delegate.answer = { $1(.becomeDownload) }
        let session = URLSession(delegate)
        let task = make(session, server.url())
        task.resume()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(delegate.faults.events == [])
        return (calls, task.error)
    }

    private static let cases: [(coding: String, body: [UInt8], code: URLError.Code)] = [
        ("gzip", Array("hello, this is not coded at all".utf8), .downloadDecodingFailedMidStream),
        ("br", [0xFF, 0xFF, 0xFF, 0xFF, 0xFF], .downloadDecodingFailedMidStream),
        // All of the body has come, and its coding is not over.
        ("gzip", Array(CodedBodies.gzip("hello").prefix(9)), .downloadDecodingFailedToComplete),
        ("gzip, gzip, gzip, gzip, gzip, gzip", CodedBodies.gzip("hello"), .cannotDecodeContentData),
    ]

    // ERR-7
    @Test("a download", arguments: cases) func aDownload(coding: String, body: [UInt8], code: URLError.Code)
        async throws
    {
        let (calls, error) = try await calls(coding, body) { $0.downloadTask(with: $1) }
        #expect(calls == [.created(1), .metrics(1), .completed(1, code), .invalid])
        #expect((error as? URLError)?.downloadTaskResumeData == nil)
    }

    // ERR-7, T-44
    @Test("a data task that becomes one", arguments: cases.prefix(3))
    func aDataTaskThatBecomesOne(coding: String, body: [UInt8], code: URLError.Code) async throws {
        let (calls, _) = try await calls(coding, body) { $0.dataTask(with: $1) }
        #expect(
            calls == [
                .created(1), .response(1, 200), .became(1, 2), .metrics(2), .completed(2, code), .invalid,
            ])
    }

    // ERR-7, ENC-8, ENC-10: the connection is lost before the body is whole, which says nothing of its coding
    @Test("a body that is cut") func aBodyThatIsCut() async throws {
        let server = try ScriptedServer { connection in
            _ = try connection.readRequest()
            let body = CodedBodies.gzip("hello")
            // What a download could go on by, were it not coded.
            try connection.send("HTTP/1.1 200 OK\r\nETag: \"v\"\r\nAccept-Ranges: bytes\r\n")
            try connection.send("Content-Encoding: gzip\r\nContent-Length: \(body.count)\r\n\r\n")
            try connection.send(Array(body.prefix(9)))
            connection.close()
        }
        defer { server.stop() }
        let delegate = RecordingDownloadDelegate()
        let session = URLSession(delegate)
        let task = session.downloadTask(with: server.url())
        task.resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .metrics(1), .completed(1, .networkConnectionLost), .invalid,
            ])
        #expect((task.error as? URLError)?.downloadTaskResumeData == nil)
    }
}
