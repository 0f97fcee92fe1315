import Foundation
import LoadingEvents
import LoadingSemantics
import LoadingTestSupport
import TestSupport
import Testing
import URLLoading

/// What configurations and requests say, for WebSocket tasks.
@Suite(.leavesNothing, .timeLimit(.minutes(2))) struct WebSocketSettingsTests {
    // MARK: App Transport Security

    private static let cleartext = URLError.Code.appTransportSecurityRequiresSecureConnection

    /// A server with TLS or not, and the settings of a session.
    struct SecurityRow: @unchecked Sendable, CustomTestStringConvertible {
        // Sendable: constants only.
        let testDescription: String
        var isSecure = false
        let settings: [String: Any]?
        /// Nil if the WebSocket is opened.
        let code: URLError.Code?
    }

    private static let rows = [
        SecurityRow(testDescription: "nothing is said", settings: nil, code: nil),
        SecurityRow(testDescription: "ws", settings: [:], code: cleartext),
        SecurityRow(
            testDescription: "an exception",
            settings: ["NSExceptionDomains": ["localhost": ["NSExceptionAllowsInsecureHTTPLoads": true]]], code: nil),
        SecurityRow(testDescription: "local networking", settings: ["NSAllowsLocalNetworking": true], code: nil),
        SecurityRow(testDescription: "wss", isSecure: true, settings: [:], code: nil),
    ]

    // S-11, TLS-1, WS-2: ws is as clear as http
    @Test("App Transport Security", arguments: rows) func appTransportSecurity(row: SecurityRow) async throws {
        let code = row.code
        let tls = row.isSecure ? try TrustedAuthority.server() : nil
        let server = try ScriptedServer.webSocket(tls: tls) { try $0.close() }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL(host: "localhost"), RecordingWebSocketDelegate()) {
            $0.appTransportSecurity = row.settings
        }
        run.receive()
        run.task.resume()
        let calls = try await run.end()
        #expect(calls.suffix(2) == [.completed(1, code), .invalid])
        #expect(calls.contains(.opened(1, nil)) == (code == nil))
        let reason = code.map { "\($0.rawValue)" } ?? "POSIX \(ENOTCONN)"
        #expect(run.delegate.results == ["received: \(reason)"])
        // What may not be loaded is not even connected to.
        #expect(server.connectionCount == (code == nil ? 1 : 0))
    }

    // TLS-1, R-15, R-25: a redirect is no way around
    @Test("App Transport Security, after a redirect", arguments: ["ws", "http"]) func redirected(scheme: String)
        async throws
    {
        let clear = try ScriptedServer.webSocket { try $0.close() }
        defer { clear.stop() }
        let target = "\(scheme)://localhost:\(clear.port)/end"
        let secure = try ScriptedServer.answering(.redirect(to: target), tls: try TrustedAuthority.server())
        defer { secure.stop() }
        let run = WebSocketRun(secure.webSocketURL(host: "localhost"), RecordingWebSocketDelegate()) {
            $0.appTransportSecurity = [:]
        }
        run.task.resume()
        let calls = try await run.end()
        #expect(calls.suffix(2) == [.completed(1, Self.cleartext), .invalid])
        #expect(clear.connectionCount == 0)
    }

    // TLS-7, WS-2: the other way round, a WebSocket's response teaches what HTTP is to do
    @Test("a handshake that asks for secure connections only") func strictTransportSecurity() async throws {
        let server = try ScriptedServer.webSocket(
            tls: TrustedAuthority.server(),
            answer: { _ in WebSocketAnswer().with(field: "Strict-Transport-Security", "max-age=1000") },
            script: { try $0.close() })
        defer { server.stop() }
        let session = URLSession { _ in }
        defer { session.invalidateAndCancel() }
        let first = session.webSocketTask(with: server.webSocketURL(host: "localhost"))
        first.resume()
        await #expect(throws: (any Error).self) { try await first.receive() }
        #expect(first.closeCode == .normalClosure)
        let clear = try #require(URL(string: "ws://localhost:\(server.port)/"))
        let second = session.webSocketTask(with: clear)
        second.resume()
        await #expect(throws: (any Error).self) { try await second.receive() }
        #expect(second.closeCode == .normalClosure)
        #expect(second.currentRequest?.url?.scheme == "wss")
    }

    // MARK: Timeouts

    // C-7, WS-18: the resource's time is that of the whole task
    @Test("timeoutIntervalForResource of an open WebSocket", arguments: [false, true])
    func resourceTimeout(isBusy: Bool) async throws {
        let server = try ScriptedServer.webSocketEcho()
        defer { server.stop() }
        let stepped = try SteppedLoop()
        let run = WebSocketRun(server.webSocketURL(), RecordingWebSocketDelegate()) {
            $0.loop = stepped.loop
            $0.timeoutIntervalForResource = 100
        }
        try await run.open()
        try await stepped.step(by: TimeLimits.seconds(99))
        if isBusy {
            // Traffic does not prolong it.
            run.receive()
            run.send("still there")
            #expect(Set(try await run.delegate.results(count: 2)) == ["sent still there", "received still there"])
        }
        let before = run.delegate.results.count
        run.receive()
        run.ping("never")
        if isBusy { try await run.delegate.results(count: before + 1) }
        try await stepped.step(by: TimeLimits.seconds(2))
        let calls = try await run.end()
        #expect(calls.suffix(3) == [.metrics(1), .completed(1, .timedOut), .invalid])
        #expect(run.delegate.results.filter { $0.hasPrefix("received: ") } == ["received: -1001"])
        #expect(run.delegate.results.count == before + 2)
        #expect(run.task.closeCode == .abnormalClosure)
        // A socket that is closed with unacknowledged bytes keeps the loop until then.
        try await stepped.step(by: stepped.limits.lingeringClose)
    }

    // C-7, T-2: a suspended task has all the time
    @Test("timeoutIntervalForResource of a suspended WebSocket") func suspendedTimeout() async throws {
        let server = try ScriptedServer.webSocketEcho()
        defer { server.stop() }
        let stepped = try SteppedLoop()
        let run = WebSocketRun(server.webSocketURL(), RecordingWebSocketDelegate()) {
            $0.loop = stepped.loop
            $0.timeoutIntervalForResource = 100
        }
        try await run.open()
        run.task.suspend()
        try await stepped.step(by: TimeLimits.seconds(1_000))
        run.task.resume()
        run.receive()
        run.send("hello")
        #expect(Set(try await run.delegate.results(count: 2)) == ["sent hello", "received hello"])
        run.receive()
        try await stepped.step(by: TimeLimits.seconds(101))
        #expect(try await run.end().suffix(2) == [.completed(1, .timedOut), .invalid])
        // A socket that is closed with unacknowledged bytes keeps the loop until then.
        try await stepped.step(by: stepped.limits.lingeringClose)
    }

    // C-7, C-6: the first of both that is over, while nothing comes
    @Test("timeouts within the handshake", arguments: [(5.0, 100.0), (100.0, 5.0)])
    func handshakeTimeouts(request: Double, resource: Double) async throws {
        let server = try ScriptedServer(steps: [.expectRequest, .waitForClose])
        defer { server.stop() }
        let stepped = try SteppedLoop()
        let run = WebSocketRun(server.webSocketURL(), RecordingWebSocketDelegate()) {
            $0.loop = stepped.loop
            $0.timeoutIntervalForRequest = request
            $0.timeoutIntervalForResource = resource
        }
        run.receive()
        run.task.resume()
        _ = try await server.connection(0).waitForRequests(1)
        try await stepped.step(by: TimeLimits.seconds(4))
        #expect(run.delegate.calls.events == [.created(1)])
        try await stepped.step(by: TimeLimits.seconds(2))
        #expect(
            try await run.end() == [
                .created(1), .result("received: -1001"), .metrics(1), .completed(1, .timedOut), .invalid,
            ])
        #expect(run.task.closeCode == .invalid)
    }

    // C-6, WS-18: the request's own interval is that of its handshake
    @Test("timeoutInterval of the request") func requestTimeout() async throws {
        let server = try ScriptedServer(steps: [.expectRequest, .waitForClose])
        defer { server.stop() }
        let stepped = try SteppedLoop()
        var request = URLRequest(url: server.webSocketURL())
        request.timeoutInterval = 5
        let run = WebSocketRun(RecordingWebSocketDelegate()) {
            $0.loop = stepped.loop
        } _: {
            $0.webSocketTask(with: request)
        }
        run.task.resume()
        _ = try await server.connection(0).waitForRequests(1)
        try await stepped.step(by: TimeLimits.seconds(6))
        #expect(try await run.end() == [.created(1), .metrics(1), .completed(1, .timedOut), .invalid])
        // A socket that is closed with unacknowledged bytes keeps the loop until then.
        try await stepped.step(by: stepped.limits.lingeringClose)
    }

    // MARK: Others

    // T-50, WS-16
    @Test("a background session has none") func background() async {
        await #expect(processExitsWith: .failure) {
            let session = URLSession(configuration: .background(withIdentifier: "org.example.sockets"))
            let url = URL(string: "ws://localhost/") ?? URL(fileURLWithPath: "/")
            session.webSocketTask(with: url).cancel()
        }
    }

    // WS-6: memory is bounded for messages of each size, also those without any octets
    @Test("messages without a receiver", arguments: [0, 1, 100, 5_000]) func unread(size: Int) async throws {
        let (count, chunk) = (5_000, 1_000)
        let frame = WebSocketFrame(WebSocketFrame.binary, .pattern(count: size)).octets
        let frames = Array(repeatElement(frame, count: chunk).joined())
        let server = try ScriptedServer.webSocket { socket in
            do {
                for _ in 0..<(count / chunk) { try socket.send(octets: frames) }
                try socket.close()
            } catch  where socket.connection.record.end != nil {
                return
            }
        }
        defer { server.stop() }
        let received = Watched(0)
        let run = WebSocketRun(server.webSocketURL(), RecordingWebSocketDelegate()) {
            $0.eventObserver = { event in
                if case .webSocketMessage(isSent: false, _, _) = event.kind { received.withValue { $0 += 1 } }
            }
        }
        try await run.open()
        // As many as are read ahead, whatever the server sends.
        let ahead = size == 0 ? 1_024 : min(1_024, (65_536 + size - 1) / size)
        try await received.wait(for: "what is read ahead") { $0 >= ahead ? () : nil }
        try await run.passTime()
        #expect(received.current == ahead)
        for _ in 0..<count { _ = try await run.task.receive() }
        let error = await #expect(throws: (any Error).self) { _ = try await run.task.receive() }
        #expect((error as NSError?)?.code == Int(ENOTCONN))
        #expect((error as NSError?)?.userInfo[NSURLErrorFailingURLErrorKey] is URL)
        #expect(received.current == count)
        _ = try await run.end()
        try await server.finish()
    }
}
