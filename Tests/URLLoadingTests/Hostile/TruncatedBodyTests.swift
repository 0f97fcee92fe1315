import Foundation
import TestSupport
import Testing
import URLLoading

/// Bodies that are shorter than announced, over the versions that scripted servers support.
@Suite(.leavesNothing) struct TruncatedBodyTests {
    enum Ending: CaseIterable {
        /// Ends as if the body were complete.
        case inOrder
        /// Ends with an explicit end of stream.
        case afterwards
        case reset
    }

    private func server(_ version: String, _ ending: Ending) throws -> ScriptedServer {
        let tls = try TrustedAuthority.server().with { $0.applicationProtocols = [version] }
        return try ScriptedServer(tls: tls) { connection in
            guard version == "h2" else {
                _ = try connection.readRequest()
                guard connection.index == 0 else {
                    try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwhole")
                    return _ = try connection.waitForClose()
                }
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
                return ending == .reset ? connection.closeAbruptly() : connection.close()
            }
            let http2 = try HTTP2ServerConnection(connection)
            let stream = try http2.readRequest()
            try http2.sendHead(on: stream, fields: [("content-length", "10")])
            try http2.sendBody(Array("half".utf8), on: stream, ends: ending == .inOrder)
            switch ending {
            case .inOrder: break
            case .afterwards: try http2.sendBody([], on: stream, ends: true)
            case .reset: try http2.reset(stream, 2)
            }
            try http2.respond(on: try http2.readRequest(), body: "whole")
            try connection.waitForClose()
        }
    }

    // CONN-27, MET-10
    @Test(
        "a body that is shorter than announced fails, after its bytes were delivered", arguments: ["http/1.1", "h2"],
        Ending.allCases)
    func short(version: String, ending: Ending) async throws {
        let server = try server(version, ending)
        defer { server.stop() }
        let url = server.url("/", host: "localhost")
        let delegate = RecordingDelegate()
        let session = URLSession(delegate) { $0.urlCache = nil }
        defer { session.invalidateAndCancel() }
        session.dataTask(with: url).resume()
        #expect(
            try await delegate.calls(untilCompletions: 1).of(1) == [
                .created(1), .response(1, 200), .data(1, "half"), .metrics(1), .completed(1, .networkConnectionLost),
            ])
        let transaction = try #require(delegate.metrics.events.first?.transactionMetrics.first)
        // Each frame has a head of nine bytes.
        let heads = version == "h2" ? (ending == .afterwards ? 18 : 9) : 0
        #expect(transaction.countOfResponseBodyBytesReceived == Int64(4 + heads))
        #expect(transaction.countOfResponseBodyBytesAfterDecoding == 4)
        // Over HTTP/2 it was one stream's affair.
        #expect(String(decoding: try await session.data(from: url).0, as: UTF8.self) == "whole")
        #expect(server.connectionCount == (version == "h2" ? 1 : 2))
    }
}
