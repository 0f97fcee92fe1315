import Foundation
import TestSupport
import Testing
import URLLoading

/// What WebSocket tasks have beyond Apple's API: messages as sequences in both directions, and pings at an interval.
@Suite(.leavesNothing, .timeLimit(.minutes(2))) struct WebSocketSequenceTests {
    private struct Failure: Error, Equatable {}

    // WS-7, WS-11
    @Test("the messages until the server closes") func messages() async throws {
        let server = try ScriptedServer.webSocket { socket in
            for number in 0..<3 { try socket.send(text: "\(number)") }
            try socket.close()
        }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        run.task.resume()
        var seen: [String] = []
        for try await case .string(let text) in run.task.messages { seen.append(text) }
        #expect(seen == ["0", "1", "2"])
        _ = try await run.end()
        try await server.finish()
    }

    // WS-13: the connection ends without a close frame
    @Test("a lost connection ends the messages with an error") func lostMessages() async throws {
        let server = try ScriptedServer.webSocket { try $0.send(text: "last") }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        run.task.resume()
        var seen = 0
        let error = await #expect(throws: URLError.self) {
            for try await _ in run.task.messages { seen += 1 }
        }
        #expect(error?.code == .networkConnectionLost && seen == 1)
        #expect(run.task.closeCode == .abnormalClosure)
        _ = try await run.end()
    }

    private func parts(_ texts: [String], then failure: (any Error)? = nil) -> AsyncThrowingStream<Data, any Error> {
        AsyncThrowingStream { stream in
            for text in texts { stream.yield(Data(text.utf8)) }
            stream.finish(throwing: failure)
        }
    }

    // WS-6: a message in fragments, of which one ends within a character, and another message that waits for its end
    @Test("a message in fragments") func fragments() async throws {
        let frames = EventRecorder<String>()
        let server = try ScriptedServer.webSocket { socket in
            while true {
                let frame = try socket.readFrame()
                if frame.opcode == WebSocketFrame.close { break }
                frames.record("\(frame.opcode) \(frame.isFinal) \(String(decoding: frame.payload, as: UTF8.self))")
            }
            try socket.send(.close(1000))
            try socket.endConnection()
        }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        try await run.open()
        let (stream, parts) = AsyncStream.makeStream(of: Data.self)
        async let isSent: Void = run.task.send(contentsOf: stream, asText: true)
        parts.yield(Data("one".utf8))
        try await frames.wait(for: "1 false one")
        run.send("between")
        parts.yield(Data())
        parts.yield(Data("two".utf8))
        parts.finish()
        try await isSent
        try await run.delegate.results(count: 1)
        try await run.task.send(contentsOf: AsyncStream<Data> { $0.finish() })
        run.task.cancel(with: .normalClosure, reason: nil)
        _ = try await run.end()
        #expect(frames.events == ["1 false one", "0 false two", "0 true ", "1 true between", "2 true "])
        try await server.finish()
    }

    // WS-10: a message that has begun cannot be taken back
    @Test("a sequence that fails ends the task") func failingSequence() async throws {
        let server = try ScriptedServer.webSocket { _ = try? $0.readClose() }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        try await run.open()
        await #expect(throws: Failure()) {
            try await run.task.send(contentsOf: parts([], then: Failure()))
        }
        #expect(run.task.state == .running)
        await #expect(throws: Failure()) {
            try await run.task.send(contentsOf: parts(["a"], then: Failure()))
        }
        let calls = try await run.end()
        #expect(calls.contains(.completed(1, .cancelled)))
    }

    // WS-10, WS-11: closing in the middle of a message stays orderly
    @Test("closing between the parts of a message") func closingBetweenParts() async throws {
        let hasBegun = Signal("the first part")
        let server = try ScriptedServer.webSocket { socket in
            _ = try socket.readFrame()
            hasBegun.fire()
            while try socket.readFrame().opcode != WebSocketFrame.close {}
            try socket.send(.close(1000))
            try socket.endConnection()
        }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        try await run.open()
        let (stream, parts) = AsyncStream.makeStream(of: Data.self)
        let sending = Task { [task = run.task] in try await task.send(contentsOf: stream) }
        parts.yield(Data("a".utf8))
        try await hasBegun.wait()
        run.task.cancel(with: .normalClosure, reason: nil)
        parts.yield(Data("b".utf8))
        parts.finish()
        await #expect(throws: (any Error).self) { try await sending.value }
        let calls = try await run.end()
        #expect(calls.suffix(4) == [.closed(1, 1000, ""), .metrics(1), .completed(1, nil), .invalid])
    }

    // WS-9: a server that answers pings stays, one that does not is lost
    @Test("pings at an interval") func pings() async throws {
        let silence = Signal("the pings")
        let server = try ScriptedServer.webSocket { socket in
            for _ in 0..<3 {
                let ping = try socket.readFrame()
                #expect(ping.opcode == WebSocketFrame.ping)
                try socket.send(WebSocketFrame(WebSocketFrame.pong, ping.payload))
            }
            silence.fire()
            try socket.connection.waitForClose()
        }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        #expect(run.task.pingInterval == nil)
        run.task.pingInterval = 0.05
        #expect(run.task.pingInterval == 0.05)
        try await run.open()
        try await silence.wait()
        let calls = try await run.end()
        #expect(calls.contains(.completed(1, .timedOut)))
        #expect(run.task.closeCode == .abnormalClosure)
    }

    // WS-9, T-2: while nothing is read, nothing is missed
    @Test("no pings while unread messages stop the reading") func pingsAndUnreadMessages() async throws {
        let isSent = Signal("more than is read ahead")
        let server = try ScriptedServer.webSocket { socket in
            for _ in 0..<4 { try socket.send(.binary([UInt8](repeating: 1, count: 60_000))) }
            isSent.fire()
            let frame = try socket.readFrame()
            #expect(frame.opcode == WebSocketFrame.text)
            try socket.close()
        }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        run.task.pingInterval = 0.02
        try await run.open()
        try await isSent.wait()
        for _ in 0..<10 { try await run.passTime() }
        run.send("done")
        for _ in 0..<4 { run.receive() }
        try await run.delegate.results(count: 5)
        let calls = try await run.end()
        #expect(calls.contains(.completed(1, nil)))
        try await server.finish()
    }

    // T-2, WS-7: messages that were read before are received first
    @Test("receives of a suspended task keep the order") func suspendedReceives() async throws {
        let mayGoOn = Signal("the next message")
        let server = try ScriptedServer.webSocket { socket in
            try socket.send(text: "one")
            #expect(try socket.requireMessage() == .text("here"))
            try socket.connection.wait(for: mayGoOn)
            try socket.send(text: "two")
            try socket.close()
        }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        try await run.open()
        // Once the server has this, the task's own turn has read what came before.
        run.send("here")
        try await run.delegate.results(count: 1)
        try await run.passTime()
        run.task.suspend()
        run.receive()
        run.receive()
        try await run.passTime()
        run.task.resume()
        try await run.delegate.results(count: 2)
        mayGoOn.fire()
        _ = try await run.end()
        #expect(run.delegate.results == ["sent here", "received one", "received two"])
    }

    // WS-11: a server that sends a close frame without reading
    @Test("a close frame counts though the connection cannot be written any more") func closeBeforeReset() async throws
    {
        let server = try ScriptedServer.webSocket { socket in
            try socket.send(.close(1009, "too big"))
        }
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL())
        run.task.send(.data(Data(count: 8 << 20))) { _ in }
        run.task.resume()
        let calls = try await run.end()
        #expect(calls.contains(.closed(1, 1009, "too big")))
        #expect(calls.contains(.completed(1, nil)))
        #expect(run.task.closeCode == .messageTooBig)
    }

    // WS-6: the handlers of operations before and around the first resume
    @Test("operations around the first resume, in order") func operationsAroundResume() async throws {
        let server = try ScriptedServer.webSocketEcho()
        defer { server.stop() }
        for _ in 0..<20 {
            let run = WebSocketRun(server.webSocketURL())
            run.send("a")
            run.task.resume()
            run.send("b")
            try await run.delegate.results(count: 2)
            #expect(run.delegate.results == ["sent a", "sent b"])
            run.task.cancel(with: .normalClosure, reason: nil)
            _ = try await run.end()
        }
    }
}
