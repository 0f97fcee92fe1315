import Foundation
import LoadingEvents
import LoadingSemantics
import LoadingTestSupport
import TestSupport
import Testing
import URLLoading

/// How WebSocket tasks end.
@Suite(.leavesNothing, .timeLimit(.minutes(2))) struct WebSocketClosingTests {
    // WS-10, WS-11, WS-16, WS-17
    @Test(
        "closed by the client, with a code",
        arguments: [
            (1000, nil), (1000, "done"), (1001, ""), (1002, nil), (1003, nil), (1007, "κόσμε"), (1008, nil),
            (1009, nil),
            (1010, nil), (1011, nil), (3000, "r"), (3999, nil), (4000, nil), (4999, String(repeating: "r", count: 123)),
        ] as [(Int, String?)])
    func closedByTheClient(code: Int, reason: String?) async throws {
        let server = try ScriptedServer.webSocket { socket in
            let (frame, messages) = try socket.readClose()
            #expect(messages == [.text("before")])
            #expect(frame.closeCode == UInt16(code))
            #expect(frame.closeReason == Array((reason ?? "").utf8))
            try socket.send(.close(UInt16(code), "answer"))
            try socket.endConnection()
        }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        try await run.open()
        run.receive()
        run.send("before")
        let closeCode = try #require(URLSessionWebSocketTask.CloseCode(rawValue: code))
        run.task.cancel(with: closeCode, reason: reason.map { Data(text: $0) })
        let calls = try await run.end()
        try await server.finish()
        #expect(
            calls.filter { $0.task != nil } == [
                .created(1), .opened(1, nil), .closed(1, code, "answer"), .metrics(1), .completed(1, nil),
            ])
        #expect(run.task.closeCode == closeCode)
        #expect(run.delegate.results.first == "sent before")
        #expect(run.delegate.results.count == 2)
    }

    // WS-14: reserved codes are never sent
    @Test("codes that must not be sent", arguments: [0, 1, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65_535])
    func reservedCodes(code: Int) async throws {
        let server = try ScriptedServer.webSocket { socket in
            // The reading throws if the code is one of them.
            let frame = try socket.readClose().frame
            #expect(frame.closeCode == nil || frame.closeCode == 1000)
            try socket.send(WebSocketFrame(WebSocketFrame.close))
            try socket.endConnection()
        }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        try await run.open()
        run.task.cancel(
            with: try #require(URLSessionWebSocketTask.CloseCode(rawValue: code)), reason: Data(text: "reason"))
        let calls = try await run.end()
        #expect(calls.completionCount == 1)
        try await server.finish()
    }

    // WS-10: what a close frame cannot carry
    @Test("a long reason", arguments: ["x", "é", "€", "💩"]) func longReason(character: String) async throws {
        let server = try ScriptedServer.webSocket { socket in
            let frame = try socket.readClose().frame
            let reason = String(decoding: frame.closeReason, as: UTF8.self)
            #expect(reason.allSatisfy { "\($0)" == character })
            #expect(frame.payload.count > 120)
            try socket.send(.close(1000))
            try socket.endConnection()
        }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        try await run.open()
        // None of them fits 123 octets.
        let reason = Data(text: String(repeating: character, count: 200))
        run.task.cancel(with: .normalClosure, reason: reason)
        _ = try await run.end()
        try await server.finish()
    }

    // WS-10, T-6
    @Test("cancelled before it was resumed", arguments: [true, false]) func beforeResume(hasCode: Bool) async throws {
        let server = try ScriptedServer.webSocket { _ in }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        run.receive()
        run.send("a")
        run.ping("1")
        if hasCode { run.task.cancel(with: .goingAway, reason: nil) } else { run.task.cancel() }
        let calls = try await run.end()
        #expect(Set(run.delegate.results) == ["received: -999", "sent a: -999", "pong 1: -999"])
        #expect(calls.filter { $0.kind == "opened" || $0.kind == "closed" } == [])
        #expect(calls.suffix(2) == [.completed(1, .cancelled), .invalid])
        #expect(server.connectionCount == 0)
    }

    // WS-10, T-5
    @Test("cancelled while connecting", arguments: [true, false]) func connecting(hasCode: Bool) async throws {
        let port = try SaturatedPort()
        let run = WebSocketRun(try #require(URL(string: "ws://127.0.0.1:\(port.port)/")))
        run.receive()
        run.send("a")
        run.task.resume()
        try await run.passTime()
        if hasCode { run.task.cancel(with: .goingAway, reason: nil) } else { run.task.cancel() }
        let calls = try await run.end()
        #expect(Set(run.delegate.results) == ["received: -999", "sent a: -999"])
        #expect(calls.ofWebSocket().filter { $0.kind == "opened" || $0.kind == "closed" } == [])
        #expect(calls.filter { $0.task == 1 }.suffix(2) == [.metrics(1), .completed(1, .cancelled)])
    }

    // WS-10, T-5
    @Test("cancelled within the handshake", arguments: [true, false]) func withinHandshake(hasCode: Bool) async throws {
        let server = try ScriptedServer { connection in
            _ = try connection.readRequest()
            try connection.send("HTTP/1.1 101 Switching")
            try connection.waitForClose()
        }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        run.receive()
        run.send("a")
        run.task.resume()
        try await server.connection(0).waitForRequests(1)
        if hasCode { run.task.cancel(with: .goingAway, reason: nil) } else { run.task.cancel() }
        let calls = try await run.end()
        #expect(Set(run.delegate.results) == ["received: -999", "sent a: -999"])
        #expect(
            calls.filter { $0.task != nil } == [.created(1), .metrics(1), .completed(1, .cancelled)])
        _ = try await server.connection(0).waitForEnd()
    }

    // WS-10: a close without reason
    @Test("cancelled while open") func cancelledWhileOpen() async throws {
        let isCancelled = Signal("the cancellation")
        let server = try ScriptedServer.webSocket { socket in
            // A pong could come before it.
            try isCancelled.wait()
            _ = try? socket.readClose()
            if let frame = socket.closeFrame { #expect(frame.closeReason == []) }
            try socket.connection.waitForClose()
        }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        try await run.open()
        run.receive()
        run.receive()
        run.ping("1")
        run.task.cancel()
        isCancelled.fire()
        #expect(run.task.state == .canceling || run.task.state == .completed)
        run.task.cancel()
        let calls = try await run.end()
        #expect(Set(run.delegate.results) == ["received: -999", "pong 1: -999"])
        #expect(run.delegate.results.count == 3)
        #expect(calls.suffix(3) == [.metrics(1), .completed(1, .cancelled), .invalid])
    }

    // WS-10, T-7: the server never answers the close frame
    @Test("cancelled while closing") func cancelledWhileClosing() async throws {
        let isClosing = Signal("the close frame")
        let server = try ScriptedServer.webSocket { socket in
            _ = try socket.readClose()
            isClosing.fire()
            try socket.connection.waitForClose()
        }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        try await run.open()
        run.receive()
        run.task.cancel(with: .normalClosure, reason: nil)
        try await isClosing.wait()
        run.task.cancel()
        let calls = try await run.end()
        #expect(calls.completionCount == 1)
        #expect(run.delegate.results.count == 1)
        #expect(calls.suffix(3).map(\.kind) == ["metrics", "completed", "invalid"])
        _ = try await server.connection(0).waitForEnd()
    }

    // WS-10, T-7, RFC 6455 §7.1.1: the closing handshake has a time limit
    @Test("a server that never answers the close frame") func neverAnswered() async throws {
        let server = try ScriptedServer.webSocket { socket in
            _ = try socket.readClose()
            try socket.connection.waitForClose()
        }
        defer { server.stop() }
        let stepped = try SteppedLoop()
        let run = WebSocketRun(server.webSocketURL(), RecordingWebSocketDelegate()) { $0.loop = stepped.loop }
        try await run.open()
        run.receive()
        run.task.cancel(with: .normalClosure, reason: nil)
        _ = try await server.connection(0).waitForRequests(1)
        try await stepped.step(by: TimeLimits.seconds(3_600))
        let calls = try await run.end()
        #expect(calls.completionCount == 1)
        #expect(calls.suffix(3).map(\.kind) == ["metrics", "completed", "invalid"])
        _ = try await server.connection(0).waitForEnd()
    }

    // WS-11, T-7, RFC 6455 §7.1.1: the server closes TCP first, within a time limit
    @Test("a server that closes, and leaves the connection open") func leftOpen() async throws {
        let isAnswered = Signal("the client's close frame")
        let server = try ScriptedServer.webSocket { socket in
            try socket.send(.close(1000))
            _ = try socket.readClose()
            isAnswered.fire()
            try socket.connection.waitForClose()
        }
        defer { server.stop() }
        let stepped = try SteppedLoop()
        let run = WebSocketRun(server.webSocketURL(), RecordingWebSocketDelegate()) { $0.loop = stepped.loop }
        run.task.resume()
        try await isAnswered.wait()
        try await stepped.step(by: TimeLimits.seconds(3_600))
        #expect(
            try await run.end() == [
                .created(1), .opened(1, nil), .closed(1, 1000, ""), .metrics(1), .completed(1, nil), .invalid,
            ])
        _ = try await server.connection(0).waitForEnd()
    }

    // WS-11, T-7, RFC 6455 §7.1.1: also one that reads a little now and then of the message that was being sent
    @Test("a server that closes, and reads slowly") func readsSlowly() async throws {
        let (isClosing, mayRead) = (Signal("the server's close frame"), Signal("the server reads"))
        let server = try ScriptedServer.webSocket { socket in
            try socket.connection.waitForBytes()
            try socket.send(.close(1000))
            try socket.connection.wait(for: mayRead)
            _ = try socket.connection.receive(exactly: 16 << 20)
            try socket.connection.waitForClose()
        }
        defer { server.stop() }
        let stepped = try SteppedLoop()
        let run = WebSocketRun(server.webSocketURL(), RecordingWebSocketDelegate()) {
            $0.loop = stepped.loop
            $0.eventObserver = { if case .webSocketClosed = $0.kind { isClosing.fire() } }
        }
        try await run.open()
        let task = run.task
        task.send(.data(Data(count: 64 << 20))) { _ in }
        try await isClosing.wait()
        let limit = stepped.limits.webSocketClose
        try await stepped.step(by: limit * 3 / 4)
        let sent = task.countOfBytesSent
        mayRead.fire()
        try await eventually { task.countOfBytesSent > sent }
        try await stepped.step(by: limit / 2)
        #expect(
            try await run.end() == [
                .created(1), .opened(1, nil), .closed(1, 1000, ""), .metrics(1), .completed(1, nil), .invalid,
            ])
        try await stepped.step(by: stepped.limits.lingeringClose)
    }

    // WS-11, WS-17: the order of the whole
    @Test("closed by the server", arguments: [nil, 1000, 1001, 1011, 3000, 4999] as [UInt16?])
    func closedByTheServer(code: UInt16?) async throws {
        let server = try ScriptedServer.webSocket { socket in
            try socket.send(text: "one")
            try socket.send(text: "two")
            let frame = code.map { WebSocketFrame.close($0, "why") } ?? WebSocketFrame(WebSocketFrame.close)
            let answer = try socket.close(frame)
            #expect(answer.closeCode == code)
        }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        run.receive()
        run.receive()
        run.receive()
        run.task.resume()
        let calls = try await run.end()
        try await server.finish()
        let reason = code == nil ? "" : "why"
        #expect(Array(run.delegate.results.prefix(2)) == ["received one", "received two"])
        #expect(run.delegate.results.dropFirst(2) == ["received: POSIX \(ENOTCONN)"])
        #expect(
            calls.filter { $0.task != nil } == [
                .created(1), .opened(1, nil), .closed(1, Int(code ?? 1005), reason), .metrics(1), .completed(1, nil),
            ])
        #expect(calls.starts(with: [.created(1), .opened(1, nil), .result("received one"), .result("received two")]))
        #expect(run.task.closeCode.rawValue == Int(code ?? 1005))
        #expect(run.task.closeReason == Data(text: reason))
        #expect(run.task.error == nil)
    }

    /// A server that sends some messages and closes, and a run whose client has read the close frame and has received
    /// nothing.
    private func closedBeforeReceiving(
        _ texts: [String], _ body: (WebSocketRun, SteppedLoop) async throws -> Void
    ) async throws -> [Call] {
        let server = try ScriptedServer.webSocket { socket in
            for text in texts { try socket.send(text: text) }
            try socket.close(.close(1001, "why"))
        }
        defer { server.stop() }
        let stepped = try SteppedLoop()
        let run = WebSocketRun(server.webSocketURL()) { $0.loop = stepped.loop }
        try await run.open()
        try await server.finish()
        try await stepped.settle()
        #expect(run.delegate.calls.events == [.created(1), .opened(1, nil)])
        try await body(run, stepped)
        let calls = try await run.end()
        try await stepped.step(by: stepped.limits.lingeringClose)
        return calls
    }

    private struct UnexpectedMessage: Error {
        let message: URLSessionWebSocketTask.Message
    }

    /// How a run ends whose server has closed as above.
    private static let closed: [Call] = [.closed(1, 1001, "why"), .metrics(1), .completed(1, nil), .invalid]

    // WS-11, WS-12, WS-17
    @Test("closed by the server, before the client receives one message after the other")
    func receivedAfterTheClose() async throws {
        let calls = try await closedBeforeReceiving(["one", "two", "three"]) { run, _ in
            run.receiveAll()
            try await run.delegate.results(count: 4)
            #expect(run.task.closeCode == .goingAway)
        }
        let failure = Call.result("received: POSIX \(ENOTCONN)")
        let messages: [Call] = ["one", "two", "three"].map { .result("received \($0)") }
        #expect(calls.filter { $0 != failure } == [.created(1), .opened(1, nil)] + messages + Self.closed)
        #expect(calls.contains(failure))
    }

    // WS-11, WS-12, WS-17: the caller may resume on its executor later than the delegate is called
    @Test("closed by the server, before the client receives with `async` methods", arguments: [true, false])
    func awaitedAfterTheClose(asksForMore: Bool) async throws {
        let calls = try await closedBeforeReceiving(["one", "two"]) { run, stepped in
            for text in ["one", "two"] {
                let message = try await run.task.receive()
                guard case .string(let received) = message else { throw UnexpectedMessage(message: message) }
                #expect(received == text)
            }
            try await stepped.settle()
            #expect(run.delegate.calls.events == [.created(1), .opened(1, nil)])
            if asksForMore {
                await #expect(throws: (any Error).self) { try await run.task.receive() }
            } else {
                try await stepped.step(by: stepped.limits.webSocketResumption)
            }
            try await run.delegate.calls.wait(for: .completed(1, nil))
        }
        #expect(calls == [.created(1), .opened(1, nil)] + Self.closed)
    }

    // WS-11, T-7: the end waits as long as the client goes on to receive
    @Test("closed by the server, and not all is received", arguments: [true, false])
    func unreadAtTheEnd(isReceiving: Bool) async throws {
        let calls = try await closedBeforeReceiving(["one", "two", "three"]) { run, stepped in
            let limit = stepped.limits.webSocketClose
            if isReceiving {
                try await stepped.step(by: limit * 3 / 4)
                run.receive()
                try await run.delegate.results(count: 1)
            }
            try await stepped.step(by: limit * 3 / 4)
            #expect(!run.delegate.calls.events.contains { $0.kind == "closed" })
            try await stepped.step(by: limit / 2)
            try await run.delegate.calls.wait(for: .completed(1, nil))
            run.receive()
            try await run.delegate.results(count: isReceiving ? 2 : 1)
        }
        #expect(calls.filter { $0.kind != "result" } == [.created(1), .opened(1, nil)] + Self.closed)
        let results = calls.filter { $0.kind == "result" }
        #expect(results == (isReceiving ? ["one", "two"] : ["one"]).map { .result("received \($0)") })
    }

    // WS-9, WS-11: a client may receive only after the ping is answered, which it never will be
    @Test("closed by the server, with a ping and before the client receives") func unansweredPing() async throws {
        let server = try ScriptedServer.webSocket { socket in
            let frame = try socket.readFrame()
            #expect(frame.opcode == WebSocketFrame.ping)
            try socket.send(text: "one")
            try socket.close(.close(1001, "why"))
        }
        defer { server.stop() }
        let stepped = try SteppedLoop()
        let run = WebSocketRun(server.webSocketURL()) { $0.loop = stepped.loop }
        try await run.open()
        run.ping("1")
        // No time passes on the loop.
        #expect(try await run.delegate.results(count: 1) == ["pong 1: POSIX \(ENOTCONN)"])
        #expect(run.delegate.calls.events.filter { $0.kind != "result" } == [.created(1), .opened(1, nil)])
        run.receive()
        let calls = try await run.end()
        try await server.finish()
        #expect(calls.filter { $0.kind != "result" } == [.created(1), .opened(1, nil)] + Self.closed)
        #expect(run.delegate.results.last == "received one")
        try await stepped.step(by: stepped.limits.lingeringClose)
    }

    // WS-10, WS-11: a client that ends the task does not want what is unread
    @Test("closed by both, before the client receives", arguments: [true, false])
    func closedUnread(sendsCode: Bool) async throws {
        let calls = try await closedBeforeReceiving(["one"]) { run, _ in
            if sendsCode { run.task.cancel(with: .normalClosure, reason: nil) } else { run.task.cancel() }
            try await run.delegate.calls.wait(for: .metrics(1))
            #expect(run.task.closeCode == (sendsCode ? .goingAway : .invalid))
        }
        let cancelled: [Call] = [.metrics(1), .completed(1, .cancelled), .invalid]
        #expect(calls == [.created(1), .opened(1, nil)] + (sendsCode ? Self.closed : cancelled))
    }

    // WS-7, WS-17, T-2
    @Test("closed by the server, before the client is suspended") func suspendedAfterTheClose() async throws {
        let calls = try await closedBeforeReceiving(["one"]) { run, stepped in
            run.task.suspend()
            run.receive()
            try await stepped.step(by: TimeLimits.seconds(3_600))
            #expect(run.delegate.calls.events == [.created(1), .opened(1, nil)])
            run.task.resume()
        }
        #expect(calls == [.created(1), .opened(1, nil), .result("received one")] + Self.closed)
    }

    // WS-6, WS-7, WS-13, WS-17: the messages come before the loss, which fails at once what waits to be sent or
    // answered. A client for which `isAsync` is nil receives nothing.
    @Test("the connection is lost before the client receives", arguments: [true, false, nil] as [Bool?])
    func receivedAfterTheLoss(isAsync: Bool?) async throws {
        let server = try ScriptedServer.webSocket { socket in
            #expect(try socket.readFrame().opcode == WebSocketFrame.ping)
            for text in ["one", "two"] { try socket.send(text: text) }
            socket.connection.close()
        }
        defer { server.stop() }
        let stepped = try SteppedLoop()
        let run = WebSocketRun(server.webSocketURL()) { $0.loop = stepped.loop }
        try await run.open()
        run.ping("1")
        // No time passes on the loop.
        #expect(try await run.delegate.results(count: 1) == ["pong 1: -1005"])
        #expect(run.task.closeCode == .abnormalClosure)
        run.send("late")
        #expect(try await run.delegate.results(count: 2).last == "sent late: -1005")
        try await stepped.settle()
        #expect(run.delegate.calls.events.filter { $0.kind != "result" } == [.created(1), .opened(1, nil)])
        switch isAsync {
        case true?:
            for text in ["one", "two"] {
                let message = try await run.task.receive()
                guard case .string(text) = message else { throw UnexpectedMessage(message: message) }
            }
            try await stepped.settle()
            #expect(run.delegate.calls.events.filter { $0.kind != "result" } == [.created(1), .opened(1, nil)])
            let error = await #expect(throws: URLError.self) { try await run.task.receive() }
            #expect(error?.code == .networkConnectionLost)
        case false?: run.receiveAll()
        case nil: try await stepped.step(by: stepped.limits.webSocketClose)
        }
        let calls = try await run.end()
        let end: [Call] = [.metrics(1), .completed(1, .networkConnectionLost), .invalid]
        #expect(calls.filter { $0.kind != "result" } == [.created(1), .opened(1, nil)] + end)
        guard isAsync == false else { return }
        let results = calls.prefix { $0.kind != "completed" }.filter { $0.kind == "result" }
        #expect(results.dropFirst(2).prefix(2) == [.result("received one"), .result("received two")])
    }

    // WS-13
    @Test("the server ends TCP without a close frame", arguments: [true, false], [true, false])
    func withoutCloseFrame(isWithinFrame: Bool, isReset: Bool) async throws {
        let server = try ScriptedServer.webSocket { socket in
            let first = try socket.requireMessage()
            #expect(first == .text("there"))
            if isWithinFrame { try socket.send(octets: [0x81, 5, 0x61]) }
            if isReset { socket.connection.reset() } else { socket.connection.close() }
        }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        run.receive()
        try await run.open()
        run.send("there")
        let calls = try await run.end()
        #expect(Set(run.delegate.results) == ["sent there", "received: -1005"])
        #expect(calls.suffix(3) == [.metrics(1), .completed(1, .networkConnectionLost), .invalid])
        #expect(calls.filter { $0.kind == "closed" } == [])
    }

    // WS-6, WS-11, WS-13, WS-17: the connection fails while the client has enough messages for now
    @Test("a write that fails before all messages are received", arguments: [true, false])
    func failedWrite(isReceiving: Bool) async throws {
        let long = String(repeating: "x", count: 70_000)
        let isReceived = Signal("the first message")
        let server = try ScriptedServer.webSocket { socket in
            try socket.send(text: long)
            try socket.connection.wait(for: isReceived)
            try socket.send(text: "last")
            try socket.send(.close(1000))
            socket.connection.reset()
        }
        defer { server.stop() }
        let stepped = try SteppedLoop()
        let run = WebSocketRun(server.webSocketURL()) {
            $0.loop = stepped.loop
            $0.eventObserver = { if case .webSocketMessage(isSent: false, _, _) = $0.kind { isReceived.fire() } }
        }
        try await run.open()
        try await server.finish()
        run.send("late")
        #expect(try await run.delegate.results(count: 1) == ["sent late: -1005"])
        if isReceiving {
            run.receive()
            run.receive()
            #expect(try await run.delegate.results(count: 3).dropFirst() == ["received \(long)", "received last"])
        } else {
            try await stepped.step(by: stepped.limits.webSocketClose)
        }
        let end: [Call] =
            isReceiving
            ? [.closed(1, 1000, ""), .metrics(1), .completed(1, nil), .invalid]
            : [.metrics(1), .completed(1, .networkConnectionLost), .invalid]
        let calls = try await run.end().filter { $0.kind != "result" }
        #expect(calls == [.created(1), .opened(1, nil)] + end)
        try await stepped.step(by: stepped.limits.lingeringClose)
    }

    // WS-13, TLS-1: close_notify is no close frame
    @Test("the server ends TLS without a close frame", arguments: [true, false])
    func withoutCloseFrameInTLS(isAbrupt: Bool) async throws {
        let server = try ScriptedServer.webSocket(tls: TrustedAuthority.server()) { socket in
            let first = try socket.requireMessage()
            #expect(first == .text("there"))
            if isAbrupt { socket.connection.closeAbruptly() } else { socket.connection.close() }
        }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL(host: "localhost"))
        run.receive()
        try await run.open()
        run.send("there")
        let calls = try await run.end()
        #expect(Set(run.delegate.results) == ["sent there", "received: -1005"])
        #expect(calls.suffix(2) == [.completed(1, .networkConnectionLost), .invalid])
    }

    // WS-10, WS-13: the failure waits for the delegate queue
    @Test("closed after the connection was lost") func closedAfterTheLoss() async throws {
        let server = try ScriptedServer.webSocket { socket in
            let first = try socket.requireMessage()
            #expect(first == .text("there"))
            socket.connection.reset()
        }
        defer { server.stop() }
        let stepped = try SteppedLoop()
        let run = WebSocketRun(server.webSocketURL()) { $0.loop = stepped.loop }
        try await run.open()
        // The callback has returned, so that the next answers of `async` methods need no queue.
        let isDelivered = Signal("the end of a callback")
        run.delegate.queue?.addOperation { isDelivered.fire() }
        try await isDelivered.wait()
        run.delegate.queue?.isSuspended = true
        try await run.task.send(.string("there"))
        let error = await #expect(throws: URLError.self) { try await run.task.receive() }
        #expect(error?.code == .networkConnectionLost)
        run.task.cancel(with: .normalClosure, reason: nil)
        // The loop has done what it was asked for.
        try await stepped.settle()
        run.delegate.queue?.isSuspended = false
        let calls = try await run.end()
        #expect(calls.suffix(3) == [.metrics(1), .completed(1, .networkConnectionLost), .invalid])
    }

    // WS-10, RFC 6455 §5.5.1: both close frames cross
    @Test("both ends close at once") func bothClose() async throws {
        let server = try ScriptedServer.webSocket { socket in
            #expect(try socket.requireMessage() == .text("there"))
            try socket.send(.close(3001, "server"))
            _ = try socket.readClose()
            try socket.endConnection()
        }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        try await run.open()
        run.send("there")
        run.task.cancel(with: .normalClosure, reason: nil)
        let calls = try await run.end()
        try await server.finish()
        #expect(calls.filter { $0.kind == "closed" }.count <= 1)
        #expect(calls.completionCount == 1)
    }

    // WS-10: messages before the close frame are sent, those after it are not
    @Test("sends before and after the client closes") func sendsAroundTheClose() async throws {
        let server = try ScriptedServer.webSocket { socket in
            #expect(try socket.readClose().messages == (0..<50).map { .text("\($0)") })
            try socket.send(.close(1000))
            try socket.endConnection()
        }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        run.task.resume()
        for number in 0..<50 { run.send("\(number)") }
        try await run.delegate.calls.wait(for: .opened(1, nil))
        run.task.cancel(with: .normalClosure, reason: nil)
        run.send("late")
        _ = try await run.end()
        try await server.finish()
        let results = run.delegate.results
        #expect(results.filter { !$0.hasPrefix("sent late") } == (0..<50).map { "sent \($0)" })
        #expect(results.filter { $0.hasPrefix("sent late: ") }.count == 1)
    }

    // WS-10: messages that the server sends while the client closes
    @Test("a server that goes on after the client's close frame") func messagesWhileClosing() async throws {
        let server = try ScriptedServer.webSocket { socket in
            _ = try socket.readClose()
            for number in 0..<100 { try socket.send(text: "\(number)") }
            try socket.send(.close(1000, "end"))
            try socket.endConnection()
        }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        try await run.open()
        run.task.cancel(with: .normalClosure, reason: nil)
        let calls = try await run.end()
        // Nothing receives them, and still the task ends.
        #expect(calls.filter { $0.kind == "closed" } == [.closed(1, 1000, "end")])
        #expect(calls.completionCount == 1)
        try await server.finish()
    }

    // S-83, T-60, T-62
    @Test("a session that is invalidated", arguments: [true, false]) func invalidated(cancels: Bool) async throws {
        let isInvalidated = Signal("the invalidation")
        let server = try ScriptedServer.webSocket { socket in
            try socket.connection.wait(for: isInvalidated)
            try? socket.send(text: "still there")
            if cancels {
                try socket.connection.waitForClose()
            } else {
                try socket.close(.close(1001))
            }
        }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        try await run.open()
        run.receive()
        let tasks = await run.session.allTasks
        #expect(tasks == [run.task])
        if cancels { run.session.invalidateAndCancel() } else { run.session.finishTasksAndInvalidate() }
        isInvalidated.fire()
        let calls = try await run.delegate.callsUntilInvalid()
        #expect(
            calls == [
                .created(1), .opened(1, nil),
            ]
                + (cancels
                    ? [.result("received: -999"), .metrics(1), .completed(1, .cancelled)]
                    : [.result("received still there"), .closed(1, 1001, ""), .metrics(1), .completed(1, nil)])
                + [.invalid])
        #expect(await run.session.allTasks == [])
    }

    // T-7: no call waits for it, and it ends with its session
    @Test("forgotten before it was resumed") func forgotten() async throws {
        let delegate = RecordingWebSocketDelegate()
        let session = URLSession(delegate)
        do {
            let task = session.webSocketTask(with: try #require(URL(string: "ws://localhost:1/")))
            delegate.receive(task)
            delegate.send(task, "a")
        }
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(Set(delegate.results) == ["received: -999", "sent a: -999"])
        #expect(calls.suffix(2) == [.completed(1, .cancelled), .invalid])
    }

    // WS-18
    @Test("silence of an open connection") func idle() async throws {
        let server = try ScriptedServer.webSocketEcho()
        defer { server.stop() }
        let stepped = try SteppedLoop()
        let run = WebSocketRun(server.webSocketURL(), RecordingWebSocketDelegate()) {
            $0.loop = stepped.loop
            $0.timeoutIntervalForRequest = 10
        }
        try await run.open()
        run.receive()
        try await stepped.step(by: TimeLimits.seconds(24 * 3_600))
        #expect(run.delegate.calls.events == [.created(1), .opened(1, nil)])
        run.send("still there")
        #expect(Set(try await run.delegate.results(count: 2)) == ["sent still there", "received still there"])
        run.task.cancel()
        _ = try await run.end()
        // The loop ends with the test, and must not leave the connection waiting for the server's end.
        try await stepped.step(by: stepped.limits.lingeringClose)
    }

    // WS-18, C-6
    @Test("silence within the handshake") func handshakeTimeout() async throws {
        let server = try ScriptedServer(steps: [.expectRequest, .send("HTTP/1.1 101 Sw"), .waitForClose])
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL(), RecordingWebSocketDelegate()) {
            $0.timeoutIntervalForRequest = 0.1
        }
        run.receive()
        run.task.resume()
        let calls = try await run.end()
        #expect(
            calls == [.created(1), .result("received: -1001"), .metrics(1), .completed(1, .timedOut), .invalid])
    }

    // T-2
    @Test("suspended before its handshake and while it is open") func suspended() async throws {
        let maySend = Signal("the message")
        let server = try ScriptedServer.webSocket { socket in
            try socket.connection.wait(for: maySend)
            try socket.send(text: "hello")
            try socket.close()
        }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        run.receive()
        try await run.open()
        run.task.suspend()
        #expect(run.task.state == .suspended)
        maySend.fire()
        try await run.passTime()
        #expect(run.delegate.calls.events.ofWebSocket().filter { if case .result = $0 { true } else { false } } == [])
        run.task.resume()
        let calls = try await run.end()
        #expect(
            calls.ofWebSocket() == [
                .created(1), .opened(1, nil), .result("received hello"), .closed(1, 1000, ""), .metrics(1),
                .completed(1, nil), .invalid,
            ])
    }

    // WS-3, WS-10: called from callbacks
    @Test("closed in the callback that it is open") func closedInCallback() async throws {
        let server = try ScriptedServer.webSocket { socket in
            #expect(try socket.readClose().frame.closeCode == 4001)
            try socket.send(.close(4001))
            try socket.endConnection()
        }
        defer { server.stop() }
        let delegate = RecordingWebSocketDelegate()
        delegate.during = { call, _, task in
            guard case .opened = call, let task = task as? URLSessionWebSocketTask else { return }
            task.cancel(with: URLSessionWebSocketTask.CloseCode(rawValue: 4001) ?? .invalid, reason: nil)
        }
        let run = WebSocketRun(server.webSocketURL(), delegate)
        run.task.resume()
        let calls = try await run.end()
        #expect(calls.prefix(3) == [.created(1), .opened(1, nil), .closed(1, 4001, "")])
        #expect(calls.completionCount == 1)
        try await server.finish()
    }
}
