import Foundation
import TestSupport
import Testing
import URLLoading

private typealias FrameType = HTTP2ServerConnection.FrameType

/// WebSocket tasks on a stream of an HTTP/2 connection (RFC 8441) whose server ends, resets, challenges and redirects.
@Suite(.leavesNothing, .timeLimit(.minutes(1))) struct WebSocketStreamTests {
    /// A server that answers the first request of each HTTP/2 connection, and runs the script with it. A connection of
    /// HTTP/1.1 has an echo.
    private func server(
        _ script: @escaping @Sendable (HTTP2ServerConnection, Int64) throws -> Void
    ) throws -> ScriptedServer {
        let tls = try TrustedAuthority.server().with { $0.applicationProtocols = ["h2", "http/1.1"] }
        return try ScriptedServer(tls: tls) { connection in
            guard connection.record.handshake?.applicationProtocol == "h2" else {
                let request = try connection.readRequest()
                try connection.send(WebSocketAnswer().head(for: request))
                let socket = WebSocketConnection(connection, request: request)
                return try socket.echo()
            }
            let http2 = try HTTP2ServerConnection(connection, settings: [(8, 1)])
            try http2.respond(on: try http2.readRequest(), body: "x")
            do {
                try script(http2, try http2.readRequest())
                _ = try http2.connection.waitForClose()
            } catch  where connection.record.end != nil {}
        }
    }

    /// Opens the HTTP/2 connection first.
    private func run(
        _ server: ScriptedServer, _ delegate: RecordingWebSocketDelegate = RecordingWebSocketDelegate()
    ) async throws -> WebSocketRun {
        let run = WebSocketRun(server.webSocketURL(host: "localhost"), delegate)
        let done = Signal("the first load")
        run.session.dataTask(with: server.url(host: "localhost")) { _, _, _ in done.fire() }.resume()
        try await done.wait()
        return run
    }

    /// What comes with, or instead of, the response that agrees, in one write.
    enum Ending: String, CaseIterable, CustomTestStringConvertible {
        case endWithHead, endAfterHead, reset, resetAfterMessage, goAwayAndReset
        var testDescription: String { rawValue }
    }

    // WS-13, RFC 8441 §5
    @Test("a stream that ends at once", arguments: Ending.allCases) func endsAtOnce(ending: Ending) async throws {
        let server = try server { http2, stream in
            let head = HTTP2ServerConnection.Frame(
                type: FrameType.headers, flags: ending == .endWithHead ? 5 : 4, stream: stream, payload: [0x88])
            let message = HTTP2ServerConnection.Frame(
                type: FrameType.data, stream: stream, payload: WebSocketFrame(WebSocketFrame.text, "one").octets)
            let end = HTTP2ServerConnection.Frame(type: FrameType.data, flags: 1, stream: stream, payload: [])
            let reset = HTTP2ServerConnection.Frame(type: FrameType.reset, stream: stream, payload: [0, 0, 0, 8])
            let goAway = HTTP2ServerConnection.Frame(
                type: FrameType.goAway, stream: 0, payload: [0, 0, 0, UInt8(stream), 0, 0, 0, 0])
            switch ending {
            case .endWithHead: try http2.send([head])
            case .endAfterHead: try http2.send([head, end])
            case .reset: try http2.send([head, reset])
            case .resetAfterMessage: try http2.send([head, message, reset])
            case .goAwayAndReset: try http2.send([goAway, head, reset])
            }
        }
        defer { server.stop() }
        let run = try await run(server)
        run.receive()
        run.receive()
        run.send("a")
        run.ping("1")
        run.task.resume()
        let calls = try await run.end().ofWebSocket()
        #expect(calls.completionCount == 1)
        #expect(calls.contains(.completed(1, .networkConnectionLost)), "\(calls)")
        #expect(run.delegate.results.count == 4, "\(run.delegate.results)")
        // WS-11: what came before can be received.
        #expect(run.delegate.results.contains("received one") == (ending == .resetAfterMessage))
        #expect(server.connectionCount == 1)
    }

    // WS-11: a server that closes at once, and no longer wants the client's half of the stream (RFC 9113 §8.1)
    @Test("a stream whose server closes, ends and resets at once") func closesAtOnce() async throws {
        let server = try server { http2, stream in
            let frames = WebSocketFrame(WebSocketFrame.text, "one").octets + WebSocketFrame.close(1000, "done").octets
            try http2.send([
                HTTP2ServerConnection.Frame(type: FrameType.headers, flags: 4, stream: stream, payload: [0x88]),
                HTTP2ServerConnection.Frame(type: FrameType.data, flags: 1, stream: stream, payload: frames),
                HTTP2ServerConnection.Frame(type: FrameType.reset, stream: stream, payload: [0, 0, 0, 0]),
            ])
        }
        defer { server.stop() }
        let run = try await run(server)
        run.receive()
        run.task.resume()
        let calls = try await run.end().ofWebSocket()
        #expect(run.delegate.results == ["received one"])
        #expect(calls.contains(.closed(1, 1000, "done")), "\(calls)")
        #expect(calls.contains(.completed(1, nil)))
    }

    // WS-2: a refused stream was not processed; HTTP_1_1_REQUIRED asks for the other handshake
    @Test("a stream that is refused", arguments: [7, 13] as [UInt32]) func refused(code: UInt32) async throws {
        let server = try server { http2, stream in
            try http2.reset(stream, code)
            if code == 7 {
                while true { try http2.reset(try http2.readRequest(), code) }
            }
        }
        defer { server.stop() }
        let run = try await run(server)
        run.send("a")
        run.receive()
        run.task.resume()
        try await run.delegate.results(count: 2)
        run.task.cancel()
        _ = try await run.end()
        #expect(run.delegate.results == ["sent a", "received a"])
    }

    // WS-2, AUTH-9
    @Test("a challenge on a stream") func challenge() async throws {
        let basic = BasicAuthResponder()
        let server = try server { http2, stream in
            try http2.sendHead(on: stream, status: 401, fields: [("www-authenticate", "Basic realm=\"r\"")], ends: true)
            let next = try http2.readRequest()
            try http2.sendHead(on: next)
            try http2.sendBody(WebSocketFrame(WebSocketFrame.text, "in").octets, on: next, ends: false)
        }
        defer { server.stop() }
        let delegate = RecordingWebSocketDelegate()
        delegate.challenge = { challenge, answer in
            if challenge.protectionSpace.serverTrust != nil { return answer(.performDefaultHandling, nil) }
            answer(.useCredential, basic.credential)
        }
        let run = try await run(server, delegate)
        run.receive()
        run.task.resume()
        try await run.delegate.results(count: 1)
        #expect(run.delegate.results == ["received in"])
        run.task.cancel()
        _ = try await run.end()
        #expect(server.connectionCount == 1)
    }

    // WS-2, R-25
    @Test("a redirect on a stream") func redirect() async throws {
        let server = try server { http2, stream in
            try http2.sendHead(
                on: stream, status: 307, fields: [("location", "/next"), ("content-length", "0")], ends: true)
            let next = try http2.readRequest()
            try http2.sendHead(on: next)
            try http2.sendBody(WebSocketFrame(WebSocketFrame.text, "in").octets, on: next, ends: false)
        }
        defer { server.stop() }
        let run = try await run(server)
        run.receive()
        run.task.resume()
        try await run.delegate.results(count: 1)
        #expect(run.delegate.results == ["received in"])
        run.task.cancel()
        _ = try await run.end()
        #expect(server.connectionCount == 1)
    }

    // WS-4, WS-5: what a response of success must not have
    @Test(
        "a response that agrees on something else",
        arguments: [
            ("sec-websocket-protocol", "other"), ("sec-websocket-extensions", "permessage-deflate"),
        ]) func disagrees(name: String, value: String) async throws
    {
        let codes = Watched<[UInt8]>([])
        let server = try server { http2, stream in
            try http2.sendHead(on: stream, fields: [(name, value)])
            let frame = try http2.readFrame(FrameType.reset)
            codes.withValue { $0 = frame.payload }
        }
        defer { server.stop() }
        let run = try await run(server)
        run.receive()
        run.task.resume()
        let calls = try await run.end().ofWebSocket()
        #expect(run.delegate.results == ["received: -1011"])
        #expect(calls.contains(.completed(1, .badServerResponse)))
        #expect(!calls.contains { $0.kind == "opened" })
    }

    // WS-13: the connection ends under an open WebSocket
    @Test("the connection is lost", arguments: [true, false]) func lost(isReset: Bool) async throws {
        let server = try server { http2, stream in
            try http2.sendHead(on: stream)
            try http2.sendBody(WebSocketFrame(WebSocketFrame.text, "one").octets, on: stream, ends: false)
            _ = try http2.readFrame(FrameType.data)
            if isReset { http2.connection.reset() } else { http2.connection.closeAbruptly() }
        }
        defer { server.stop() }
        let run = try await run(server)
        run.receive()
        run.send("a")
        run.task.resume()
        try await run.delegate.results(count: 2)
        run.receive()
        let calls = try await run.end().ofWebSocket()
        #expect(calls.contains(.completed(1, .networkConnectionLost)), "\(calls)")
        #expect(run.delegate.results.count == 3)
        #expect(run.task.closeCode == .abnormalClosure)
    }
}
