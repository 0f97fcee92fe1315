import Foundation
import TestSupport
import Testing
import URLLoading

/// Messages that are passed on together, and without a change of threads.
@Suite(.leavesNothing, .timeLimit(.minutes(2))) struct WebSocketBatchTests {
    // WS-7: however messages are asked for, each has one receiver, in the server's order
    @Test("awaited and with handlers, in turn") func bothSpellings() async throws {
        let server = try ScriptedServer.webSocket { socket in
            for start in stride(from: 0, to: 600, by: 20) {
                try socket.send((start..<(start + 20)).map { WebSocketMessage.text("\($0)").frame })
            }
            _ = try socket.readClose()
        }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        try await run.open()
        for number in 0..<600 where number % 3 != 2 {
            if number % 3 == 1 {
                run.receive()
                run.receive()
                try await run.delegate.results(count: number / 3 * 2 + 2)
            } else {
                #expect(try await run.task.receive().message == .text("\(number)"))
            }
        }
        #expect(run.delegate.results == (0..<600).filter { $0 % 3 != 0 }.map { "received \($0)" })
        run.task.cancel()
        _ = try await run.end()
    }

    // WS-7: a later call does not take the message of one that waits
    @Test("awaited while a handler waits") func afterAHandler() async throws {
        let server = try ScriptedServer.webSocket { socket in
            #expect(try socket.requireMessage() == .text("ready"))
            try socket.send([WebSocketMessage.text("one").frame, WebSocketMessage.text("two").frame])
            _ = try socket.readClose()
        }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        try await run.open()
        run.receive()
        try await run.task.send(.string("ready"))
        #expect(try await run.task.receive().message == .text("two"))
        #expect(try await run.delegate.results(count: 1) == ["received one"])
        run.task.cancel()
        _ = try await run.end()
    }

    // T-2, WS-7: what was read before is held too
    @Test("asked for while the task is suspended") func suspended() async throws {
        let server = try ScriptedServer.webSocket { socket in
            try socket.send((0..<3).map { WebSocketMessage.text("\($0)").frame })
            _ = try socket.readClose()
        }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        try await run.open()
        #expect(try await run.task.receive().message == .text("0"))
        run.task.suspend()
        run.receive()
        let task = run.task
        let waiting = Task { try await task.receive().message }
        try await run.passTime()
        #expect(run.delegate.results == [])
        run.task.resume()
        let awaited = try await waiting.value
        try await run.delegate.results(count: 1)
        // Which of the two calls came first is not known.
        let received = run.delegate.results
        #expect(
            awaited == .text("1") && received == ["received 2"] || awaited == .text("2") && received == ["received 1"])
        run.task.cancel()
        _ = try await run.end()
    }

    // WS-6, WS-10, T-2: a call that stops the task does not take back a message that was sent before it
    @Test("sent, and cancelled or suspended in the same callback", arguments: [true, false])
    func sentBeforeTheEnd(cancels: Bool) async throws {
        let hasLast = Signal("the last message")
        let server = try ScriptedServer.webSocket { socket in
            try socket.send(text: "go")
            for number in 0..<5 { #expect(try socket.requireMessage() == .text("\(number)")) }
            hasLast.fire()
            #expect(try socket.readClose().messages == [])
        }
        defer { server.stop() }
        // Without a delegate queue the handler runs between two turns of the loop, so all calls belong to the next one.
        let session = URLSession(configuration: .ephemeral)
        let task = session.webSocketTask(with: server.webSocketURL())
        task.receive { _ in
            for number in 0..<5 { task.send(.string("\(number)")) { _ in } }
            if cancels { task.cancel() } else { task.suspend() }
        }
        task.resume()
        try await hasLast.wait()
        if !cancels { task.cancel() }
        session.finishTasksAndInvalidate()
        try await server.finish()
    }

    // WS-6: what is sent in one callback arrives whole and in order
    @Test("many messages in one callback", arguments: [1, 200, 70_000]) func manyInOneCallback(size: Int) async throws {
        let count = 40
        let server = try ScriptedServer.webSocket { socket in
            try socket.send(text: "go")
            for number in 0..<count {
                let message = try socket.requireMessage()
                #expect(message == .binary([UInt8](repeating: UInt8(number), count: size)))
            }
            try socket.close()
        }
        defer { server.stop() }
        let session = URLSession(configuration: .ephemeral)
        let task = session.webSocketTask(with: server.webSocketURL())
        let results = EventRecorder<Int>()
        task.receive { _ in
            for number in 0..<count {
                task.send(.data(Data(repeating: UInt8(number), count: size))) { error in
                    results.record(error == nil ? number : -1)
                }
            }
        }
        task.resume()
        try await results.waitUntil("all are sent") { $0.count == count }
        #expect(results.events == Array(0..<count))
        session.finishTasksAndInvalidate()
        try await server.finish()
    }

    // WS-14, WS-17: what a handler sends in answer to a message goes out, although a fault followed the message in the
    // same octets
    @Test(
        "a message is answered before the failure",
        arguments: [[0x83, 0x00], [0x81, 0x01, 0xFF], [0x82, 0x7E, 0x04, 0x01]] as [[UInt8]],
        [true, false])
    func answeredBeforeTheFailure(fault: [UInt8], hasQueue: Bool) async throws {
        let code: UInt16 = fault[0] == 0x83 ? 1002 : fault[0] == 0x81 ? 1007 : 1009
        let server = try ScriptedServer.webSocket { socket in
            try socket.send(octets: WebSocketMessage.text("before").frame.octets + fault)
            let (frame, messages) = try socket.readClose()
            #expect(messages == [.text("answer")])
            #expect(frame.closeCode == code)
            try socket.connection.waitForClose()
        }
        defer { server.stop() }
        let queue = hasQueue ? OperationQueue(name: "handlers", width: 1) : nil
        let session = URLSession(configuration: .ephemeral, delegate: nil, delegateQueue: queue)
        let task = session.webSocketTask(with: server.webSocketURL())
        task.maximumMessageSize = 1024
        let results = EventRecorder<String>()
        task.receive { result in
            results.record(RecordingWebSocketDelegate.text(of: result))
            task.send(.string("answer")) { results.record("sent" + ($0 == nil ? "" : " with an error")) }
            task.receive { result in
                results.record({ if case .failure = result { "failed" } else { "received" } }())
            }
        }
        task.resume()
        try await results.waitUntil("all has happened") { $0.count == 3 }
        #expect(results.events == ["received before", "sent", "failed"])
        session.finishTasksAndInvalidate()
        try await server.finish()
    }
}
