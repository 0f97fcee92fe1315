import Foundation
import TestSupport
import Testing
import URLLoading

/// Messages and pings of WebSocket tasks.
@Suite(.leavesNothing, .timeLimit(.minutes(2))) struct WebSocketMessageTests {
    // WS-3, WS-6, WS-7, WS-9, WS-17
    @Test("asked for before the task is resumed") func beforeResume() async throws {
        let server = try ScriptedServer.webSocket { socket in
            #expect(try socket.requireMessage() == .text("a"))
            #expect(try socket.requireMessage() == .text("b"))
            #expect(try socket.readFrame().opcode == WebSocketFrame.close)
            try socket.send(.close(1000))
            try socket.endConnection()
        }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        run.send("a")
        run.send("b")
        #expect(run.task.state == .suspended)
        #expect(run.task.closeCode == .invalid)
        #expect(run.task.closeReason == nil)
        #expect(server.connectionCount == 0)
        run.task.resume()
        try await run.delegate.results(count: 2)
        run.task.cancel(with: .normalClosure, reason: nil)
        let calls = try await run.end()
        #expect(
            calls.prefix(4) == [.created(1), .opened(1, nil), .result("sent a"), .result("sent b")])
        try await server.finish()
    }

    // WS-6, WS-7, WS-9: each kind in its own order
    @Test("receives and pings before the task is resumed") func receivesBeforeResume() async throws {
        let server = try ScriptedServer.webSocket { socket in
            let ping = try socket.readFrame()
            #expect(ping.opcode == WebSocketFrame.ping)
            try socket.send(WebSocketFrame(WebSocketFrame.pong, ping.payload))
            try socket.send(text: "one")
            try socket.send(.binary(Array("two".utf8)))
            try socket.close()
        }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        run.receive()
        run.ping("1")
        run.receive()
        run.task.resume()
        let calls = try await run.end()
        #expect(
            calls == [
                .created(1), .opened(1, nil), .result("pong 1"), .result("received one"), .result("received data two"),
                .closed(1, 1000, ""), .metrics(1), .completed(1, nil), .invalid,
            ])
        try await server.finish()
    }

    // WS-6, S-75: as `data(from:)`
    @Test("async methods need no queue") func withoutQueue() async throws {
        let server = try ScriptedServer.webSocket { socket in
            let message = try socket.requireMessage()
            #expect(message == .text("a"))
            try socket.send(text: "b")
            _ = try socket.readFrame()
        }
        defer { server.stop() }
        try await URLSession.withSuspendedQueue { session in
            let task = session.webSocketTask(with: server.webSocketURL())
            task.resume()
            try await task.send(.string("a"))
            let received = try await task.receive()
            guard case .string(let text) = received else { throw URLError(.cannotDecodeRawData) }
            #expect(text == "b")
        }
    }

    // WS-6, S-75: whatever ends the connection
    @Test("async methods need no queue to fail", arguments: ["closed", "fault", "reset"])
    func failureWithoutQueue(_ ending: String) async throws {
        let server = try ScriptedServer.webSocket { socket in
            _ = try socket.requireMessage()
            switch ending {
            case "closed": try socket.close()
            case "fault":
                // A continuation of no message.
                try socket.send(WebSocketFrame(WebSocketFrame.continuation, [1]))
                _ = try socket.readFrame()
            default: socket.connection.reset()
            }
        }
        defer { server.stop() }
        try await URLSession.withSuspendedQueue { session in
            let task = session.webSocketTask(with: server.webSocketURL())
            // Called before the task is resumed, while it is running, and after its connection has ended.
            let early = Task { try await task.receive() }
            task.resume()
            try await task.send(.string("a"))
            await #expect(throws: (any Error).self) { try await early.value }
            await #expect(throws: (any Error).self) { try await task.receive() }
            await #expect(throws: (any Error).self) { try await task.send(.string("b")) }
        }
    }

    // WS-6, WS-7
    @Test("a hundred receives pending") func hundredReceives() async throws {
        let isReady = Signal("the receives")
        let server = try ScriptedServer.webSocket { socket in
            try socket.connection.wait(for: isReady)
            for number in 0..<100 { try socket.send(text: "\(number)") }
            try socket.close()
        }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        try await run.open()
        for _ in 0..<100 { run.receive() }
        isReady.fire()
        let calls = try await run.end()
        #expect(run.delegate.results == (0..<100).map { "received \($0)" })
        #expect(
            calls.filter { if case .result = $0 { false } else { true } } == [
                .created(1), .opened(1, nil), .closed(1, 1000, ""), .metrics(1), .completed(1, nil), .invalid,
            ])
    }

    // WS-7: unread messages wait for their receives
    @Test("messages before they are asked for") func messagesBeforeReceives() async throws {
        let isSent = Signal("the messages")
        let server = try ScriptedServer.webSocket { socket in
            try socket.send((0..<10).map { WebSocketMessage.text("\($0)").frame })
            isSent.fire()
            _ = try socket.readClose()
        }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        try await run.open()
        try await isSent.wait()
        for _ in 0..<5 { run.receive() }
        try await run.delegate.results(count: 5)
        for _ in 5..<10 { run.receive() }
        #expect(try await run.delegate.results(count: 10) == (0..<10).map { "received \($0)" })
        run.task.cancel()
        _ = try await run.end()
    }

    // WS-6
    @Test("a thousand sends, in order") func sendsInOrder() async throws {
        let server = try ScriptedServer.webSocket { socket in
            for number in 0..<1_000 {
                let message = try socket.requireMessage()
                #expect(message == .text("\(number)"))
            }
            try socket.close()
        }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        run.task.resume()
        for number in 0..<1_000 { run.send("\(number)") }
        try await run.delegate.results(count: 1_000)
        _ = try await run.end()
        #expect(run.delegate.results == (0..<1_000).map { "sent \($0)" })
        try await server.finish()
    }

    // WS-6: messages of several threads are not mixed
    @Test("sends of many threads") func sendsOfManyThreads() async throws {
        let messages = EventRecorder<[UInt8]>()
        let server = try ScriptedServer.webSocket { socket in
            for _ in 0..<400 { messages.record(try socket.requireMessage().payload) }
            try socket.close()
        }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        try await run.open()
        let task = run.task
        try await withThrowingTaskGroup(of: Void.self) { group in
            for thread in UInt8(0)..<8 {
                group.addTask {
                    for _ in 0..<50 { try await task.send(.data(Data(repeating: thread, count: 5_000))) }
                }
            }
            try await group.waitForAll()
        }
        _ = try await run.end()
        try await server.finish()
        for octets in messages.events {
            #expect(octets.count == 5_000)
            #expect(Set(octets).count == 1)
        }
        let firsts = messages.events.compactMap(\.first)
        for thread in UInt8(0)..<8 { #expect(firsts.count { $0 == thread } == 50) }
    }

    // WS-9
    @Test("pings, all of which are answered") func pings() async throws {
        let server = try ScriptedServer.webSocket { socket in
            for _ in 0..<20 {
                let frame = try socket.readFrame()
                #expect(frame.opcode == WebSocketFrame.ping)
                try socket.send(WebSocketFrame(WebSocketFrame.pong, frame.payload))
            }
            try socket.close()
        }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        run.task.resume()
        for number in 0..<20 { run.ping("\(number)") }
        _ = try await run.end()
        #expect(run.delegate.results == (0..<20).map { "pong \($0)" })
        try await server.finish()
    }

    // WS-9, RFC 6455 §5.5.3: a server may answer the last ping only
    @Test("pings, the last of which is answered") func lastPing() async throws {
        let server = try ScriptedServer.webSocket { socket in
            var last: [UInt8] = []
            for _ in 0..<10 { last = try socket.readFrame().payload }
            try socket.send(WebSocketFrame(WebSocketFrame.pong, last))
            try socket.close()
        }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        try await run.open()
        for number in 0..<10 { run.ping("\(number)") }
        _ = try await run.end()
        #expect(run.delegate.results == (0..<10).map { "pong \($0)" })
    }

    // WS-9: unsolicited pongs answer no ping
    @Test("pings that are not answered") func unansweredPings() async throws {
        let server = try ScriptedServer.webSocket { socket in
            let first = try socket.readFrame()
            #expect(first.opcode == WebSocketFrame.ping)
            try socket.send(WebSocketFrame(WebSocketFrame.pong, "something else"))
            try socket.send(WebSocketFrame(WebSocketFrame.pong))
            try socket.send(text: "after the pongs")
            #expect(try socket.requireMessage() == .text("heard"))
            try socket.close()
        }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        run.ping("1")
        run.receive()
        try await run.open()
        #expect(try await run.delegate.results(count: 1) == ["received after the pongs"])
        run.send("heard")
        let calls = try await run.end()
        #expect(Set(run.delegate.results) == ["received after the pongs", "sent heard", "pong 1: POSIX \(ENOTCONN)"])
        #expect(
            calls.filter { $0.task != nil } == [
                .created(1), .opened(1, nil), .closed(1, 1000, ""), .metrics(1), .completed(1, nil),
            ])
    }

    // WS-9, WS-13
    @Test("the connection is lost before a pong") func lostBeforePong() async throws {
        let server = try ScriptedServer.webSocket { socket in
            _ = try socket.readFrame()
            socket.connection.close()
        }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        run.ping("1")
        run.ping("2")
        run.task.resume()
        let calls = try await run.end()
        #expect(run.delegate.results == ["pong 1: -1005", "pong 2: -1005"])
        #expect(calls.suffix(3) == [.metrics(1), .completed(1, .networkConnectionLost), .invalid])
    }

    // WS-6, WS-7, WS-9: the async forms
    @Test("awaited") func awaited() async throws {
        let server = try ScriptedServer.webSocketEcho()
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        run.task.resume()
        for message in [WebSocketMessage.text("κόσμε"), .binary([0, 0xFF]), .text([]), .binary([])] {
            switch message {
            case .text(let octets): try await run.task.send(.string(String(decoding: octets, as: UTF8.self)))
            case .binary(let octets): try await run.task.send(.data(Data(octets)))
            }
            #expect(try await run.task.receive().message == message)
        }
        run.task.cancel(with: .goingAway, reason: nil)
        let error = await #expect(throws: (any Error).self) { try await run.task.receive() }
        #expect(error != nil)
        _ = try await run.end()
        #expect(run.task.closeCode == .goingAway)
    }

    // WS-7: a cancelled wait neither loses a message nor ends the task
    @Test("the Swift task that awaits a message is cancelled") func cancelledWait() async throws {
        let isCancelled = Signal("cancelled")
        let server = try ScriptedServer.webSocket { socket in
            #expect(try socket.requireMessage() == .text("there"))
            try socket.connection.wait(for: isCancelled)
            try socket.send(text: "one")
            try socket.send(text: "two")
            _ = try socket.readClose()
        }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        try await run.open()
        let task = run.task
        let waiting = Task { try await task.receive().message }
        try await task.send(.string("there"))
        waiting.cancel()
        isCancelled.fire()
        let first = try? await waiting.value
        #expect(first == nil || first == .text("one"))
        #expect(try await task.receive().message == (first == nil ? .text("one") : .text("two")))
        task.cancel()
        _ = try await run.end()
    }

    // WS-6: handlers of sends run when the octets have left the buffers of this end
    @Test("a send to a server that does not read") func sendIsComplete() async throws {
        let mayRead = Signal("reading")
        let size = 24 << 20
        var options = ScriptedServer.Options()
        options.receiveBufferSize = 4_096
        let server = try ScriptedServer.webSocket(options) { socket in
            try socket.connection.wait(for: mayRead)
            #expect(try socket.requireMessage() == .text("small"))
            // The header of a frame with a length of eight octets.
            _ = try socket.connection.receive(exactly: 14)
            var count = 0
            while count < size {
                let octets = try socket.connection.receive()
                if octets.isEmpty { break }
                count += octets.count
            }
            #expect(count == size)
            socket.connection.reset()
        }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        try await run.open()
        run.send("small")
        try await run.delegate.results(count: 1)
        run.task.send(.data(Data(count: size))) { [calls = run.delegate.calls] error in
            calls.record(.result("sent large" + (error == nil ? "" : " with an error")))
        }
        try await run.passTime()
        run.delegate.calls.record(.result("released"))
        mayRead.fire()
        let results = try await run.delegate.results(count: 3)
        #expect(results == ["sent small", "released", "sent large"])
        _ = try await run.end()
    }

    // WS-7, CONN-22: what is not received stays in the kernel's buffers
    @Test("messages that are not received block the server") func backPressure() async throws {
        let message = WebSocketMessage.binary(.pattern(count: 65_536))
        let octets = message.frame.octets
        let server = try ScriptedServer.webSocket { socket in
            do {
                while true { try socket.send(octets: octets) }
            } catch  where socket.connection.record.end != nil {
                return
            }
        }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        try await run.open()
        let accepted = try await server.connection(0).waitUntilBlocked()
        #expect(accepted < 12_000_000)
        for _ in 0..<50 { #expect(try await run.task.receive().message == message) }
        // The window has opened again.
        try await server.connection(0).waitUntilAccepted(accepted + 1_000_000)
        run.task.cancel()
        let calls = try await run.end()
        #expect(calls.suffix(3) == [.metrics(1), .completed(1, .cancelled), .invalid])
    }

    // WS-6, WS-13: an error of one fails all
    @Test("the server resets the connection") func reset() async throws {
        let server = try ScriptedServer.webSocket { socket in
            // The ping, which is not answered, and the message.
            let frames = [try socket.readFrame().opcode, try socket.readFrame().opcode]
            #expect(frames == [WebSocketFrame.ping, WebSocketFrame.text])
            socket.connection.reset()
        }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        run.receive()
        run.receive()
        run.ping("1")
        try await run.open()
        run.send("a")
        let calls = try await run.end()
        #expect(
            Set(run.delegate.results) == ["sent a", "received: -1005", "pong 1: -1005"])
        #expect(run.delegate.results.count == 4)
        #expect(calls.suffix(3) == [.metrics(1), .completed(1, .networkConnectionLost), .invalid])
        #expect(run.task.error?.summary == "-1005")
    }

    // WS-12
    @Test("asked for after the peer has closed") func afterTheEnd() async throws {
        let server = try ScriptedServer.webSocket { try $0.close(.close(1001, "bye")) }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        run.task.resume()
        try await run.delegate.calls.wait(for: .completed(1, nil))
        run.receive()
        try await run.delegate.results(count: 1)
        run.send("late")
        try await run.delegate.results(count: 2)
        run.ping("late")
        try await run.delegate.results(count: 3)
        let notConnected = "POSIX \(ENOTCONN)"
        #expect(
            run.delegate.results == [
                "received: \(notConnected)", "sent late: \(notConnected)", "pong late: \(notConnected)",
            ])
        await #expect(throws: (any Error).self) { try await run.task.receive() }
        await #expect(throws: (any Error).self) { try await run.task.send(.string("late")) }
        #expect(run.task.closeCode == .goingAway)
        #expect(run.task.closeReason == Data(text: "bye"))
        _ = try await run.end()
    }

    // WS-8
    @Test("the limit of messages") func limit() async throws {
        let mayGoOn = Signal("the limit is raised")
        let server = try ScriptedServer.webSocket { socket in
            try socket.send(.text(ascii(20)))
            try socket.connection.wait(for: mayGoOn)
            try socket.send(.text(ascii(3_000)))
            let (frame, _) = try socket.readClose()
            #expect(frame.closeCode == 1000)
            try socket.send(.close(1000))
            try socket.endConnection()
        }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        #expect(run.task.maximumMessageSize == 1_048_576)
        run.task.maximumMessageSize = 20
        try await run.open()
        #expect(try await run.task.receive().message == .text(ascii(20)))
        run.task.maximumMessageSize = 4_000
        #expect(run.task.maximumMessageSize == 4_000)
        mayGoOn.fire()
        #expect(try await run.task.receive().message == .text(ascii(3_000)))
        run.task.cancel(with: .normalClosure, reason: nil)
        _ = try await run.end()
        try await server.finish()
    }

    // WS-8: the receive fails, and the task ends
    @Test("a message beyond the limit", arguments: [1, 7]) func beyondTheLimit(fragmentCount: Int) async throws {
        let server = try ScriptedServer.webSocket { socket in
            try socket.send(WebSocketMessage.text(ascii(21)).frames(of: 21 / fragmentCount))
            #expect(try socket.readClose().frame.closeCode == 1009)
            try socket.connection.waitForClose()
        }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        run.task.maximumMessageSize = 20
        run.receive()
        run.receive()
        run.task.resume()
        let calls = try await run.end()
        #expect(run.delegate.results == ["received: POSIX \(EMSGSIZE)", "received: POSIX \(EMSGSIZE)"])
        #expect(run.task.error?.summary == "POSIX \(EMSGSIZE)")
        #expect(calls.suffix(3).map(\.kind) == ["metrics", "completed", "invalid"])
        try await server.finish()
    }

    // WS-6, WS-7: no delegate is needed
    @Test("a session without a delegate") func withoutDelegate() async throws {
        let server = try ScriptedServer.webSocketEcho()
        defer { server.stop() }
        let session = URLSession { _ in }
        let task = session.webSocketTask(with: server.webSocketURL())
        task.resume()
        try await task.send(.string("hello"))
        #expect(try await task.receive().message == .text("hello"))
        task.cancel(with: .normalClosure, reason: nil)
        await #expect(throws: (any Error).self) { try await task.receive() }
        session.invalidateAndCancel()
    }

    // WS-3, T-24: the task's delegate is asked first
    @Test("a delegate of the task") func taskDelegate() async throws {
        let server = try ScriptedServer.webSocket { try $0.close(.close(4000, "r")) }
        defer { server.stop() }
        let own = RecordingWebSocketDelegate()
        let run = WebSocketRun(server.webSocketURL())
        run.task.delegate = own
        run.task.resume()
        let calls = try await run.end()
        #expect(calls == [.created(1), .invalid])
        #expect(own.calls.events == [.opened(1, nil), .closed(1, 4000, "r"), .metrics(1), .completed(1, nil)])
    }

    // WS-6, WS-7
    @Test("fifty connections at once") func fifty() async throws {
        let server = try ScriptedServer.webSocketEcho()
        defer { server.stop() }
        let session = URLSession { $0.httpMaximumConnectionsPerHost = 100 }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<50 {
                group.addTask {
                    let task = session.webSocketTask(with: server.webSocketURL("/\(number)"))
                    task.resume()
                    for round in 0..<10 {
                        try await task.send(.string("\(number) \(round)"))
                        #expect(try await task.receive().message == .text("\(number) \(round)"))
                    }
                    task.cancel(with: .normalClosure, reason: nil)
                    #expect((try? await task.receive()) == nil)
                }
            }
            try await group.waitForAll()
        }
        #expect(server.connectionCount == 50)
        session.invalidateAndCancel()
        try await server.finish()
    }
}
