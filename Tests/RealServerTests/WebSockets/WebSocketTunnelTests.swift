import Foundation
import TestSupport
import Testing
import URLLoading

/// WebSocket tasks on connections of HTTP/2 and HTTP/3 that the session has already (RFC 8441, RFC 9220).
@Suite(.timeLimit(.minutes(2))) struct WebSocketTunnelTests {
    private static func secure(_ url: URL) throws -> URL {
        try #require(URL(string: url.absoluteString.replacingOccurrences(of: "wss:", with: "https:")))
    }

    /// The protocols of the connections that a session's tasks have used, without those that were resumed.
    private static func names(_ metrics: MetricsRecorder) -> [String?] {
        metrics.all.flatMap { $0.transactionMetrics.map(\.networkProtocolName) }
    }

    /// The metrics of all tasks of a session.
    final class MetricsRecorder: NSObject, URLSessionTaskDelegate {
        private let recorded = EventRecorder<URLSessionTaskMetrics>()
        /// After the last task.
        let ended = Signal("the end of the session")
        var all: [URLSessionTaskMetrics] { recorded.events }

        func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) { ended.fire() }

        func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics)
        {
            recorded.record(metrics)
        }
    }

    // WS-2, WS-7, WS-10
    @Test("over HTTP/2", .needs(.node)) func http2() async throws {
        let server = try WebSocketServer(.nodeHTTP2, authority: try TrustedAuthority.authority)
        defer { server.stop() }
        let metrics = MetricsRecorder()
        let session = URLSession(configuration: .ephemeral, delegate: metrics, delegateQueue: nil)
        let (data, _) = try await session.data(from: try Self.secure(server.url()))
        #expect(data == Data("GET".utf8))
        let task = session.webSocketTask(with: server.url())
        task.resume()
        try await task.send(.string("a text"))
        #expect(try await task.receive().message == .text("a text"))
        try await task.ping()
        task.cancel(with: .goingAway, reason: nil)
        await #expect(throws: (any Error).self) { try await task.receive() }
        #expect(task.closeCode == .goingAway)
        // The connection stays for others.
        #expect(try await session.data(from: try Self.secure(server.url())).0 == Data("GET".utf8))
        session.finishTasksAndInvalidate()
        try await metrics.ended.wait()
        #expect(Self.names(metrics) == ["h2", "h2", "h2"])
        #expect(metrics.all.dropFirst().allSatisfy { $0.transactionMetrics.allSatisfy(\.isReusedConnection) })
    }

    // WS-11, WS-13, WS-10: the server closes, ends the stream, and the client cancels
    @Test("ends over HTTP/2", .needs(.node)) func endsOverHTTP2() async throws {
        let server = try WebSocketServer(.nodeHTTP2, authority: try TrustedAuthority.authority)
        defer { server.stop() }
        let session = URLSession(configuration: .ephemeral)
        defer { session.invalidateAndCancel() }
        _ = try await session.data(from: try Self.secure(server.url()))

        let closed = session.webSocketTask(with: server.url("/close/4001/enough"))
        closed.resume()
        try await closed.send(.string("x"))
        await #expect(throws: (any Error).self) { try await closed.receive() }
        #expect(closed.closeCode.rawValue == 4001 && closed.closeReason == Data("enough".utf8))
        #expect(closed.error == nil)

        let dropped = session.webSocketTask(with: server.url("/drop"))
        dropped.resume()
        try await dropped.send(.string("x"))
        let error = await #expect(throws: URLError.self) { _ = try await dropped.receive() }
        #expect(error?.code == .networkConnectionLost)
        #expect(dropped.closeCode == .abnormalClosure)

        let cancelled = session.webSocketTask(with: server.url())
        cancelled.resume()
        try await cancelled.send(.string("x"))
        _ = try await cancelled.receive()
        cancelled.cancel()
        let reason = await #expect(throws: URLError.self) { _ = try await cancelled.receive() }
        #expect(reason?.code == .cancelled)

        // A slow reader stops the server, and gets everything.
        let slow = session.webSocketTask(with: server.url())
        slow.resume()
        let message = Data([UInt8].pattern(count: 200_000))
        for _ in 0..<20 { try await slow.send(.data(message)) }
        for _ in 0..<20 {
            guard case .data(let echoed) = try await slow.receive(), echoed == message else {
                Issue.record("another message")
                return
            }
        }
        slow.cancel()
    }

    // WS-2, WS-7
    @Test("over HTTP/3", .needsHTTP3, .needs(.aioquic)) func http3() async throws {
        let server = try AioquicServer(files: ["small": Array("small".utf8)], authority: try TrustedAuthority.authority)
        defer { server.stop() }
        let metrics = MetricsRecorder()
        let session = URLSession(configuration: .ephemeral, delegate: metrics, delegateQueue: nil)
        var request = URLRequest(url: server.secureURL("/small"))
        request.assumesHTTP3Capable = true
        _ = try await session.data(for: request)
        let url = server.secureURL("/ws/echo").absoluteString.replacingOccurrences(of: "https:", with: "wss:")
        let task = session.webSocketTask(with: try #require(URL(string: url)))
        task.resume()
        try await task.send(.string("a text"))
        #expect(try await task.receive().message == .text("a text"))
        task.cancel(with: .normalClosure, reason: nil)
        await #expect(throws: (any Error).self) { try await task.receive() }
        #expect(task.closeCode == .normalClosure)
        session.finishTasksAndInvalidate()
        try await metrics.ended.wait()
        #expect(Self.names(metrics) == ["h3", "h3"])
    }
}
