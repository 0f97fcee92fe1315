import Foundation
import TestSupport
import Testing
import URLLoading

/// Stream tasks.
@Suite(.leavesNothing) struct StreamTaskTests {
    private func run(
        _ server: ScriptedServer, _ delegate: RecordingStreamDelegate = RecordingStreamDelegate(),
        _ configure: (URLSessionConfiguration) -> Void = { _ in },
        _ use: (URLSessionStreamTask, RecordingStreamDelegate) async throws -> Void
    ) async throws -> [Call] {
        let queue = OperationQueue(name: "calls", width: 1)
        delegate.queue = queue
        let session = URLSession(delegate, queue: queue, configure)
        let task = session.streamTask(to: server)
        try await use(task, delegate)
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(delegate.faults.events == [])
        #expect(task.state == .completed)
        return calls
    }

    // STREAM-2, S-75: as `data(from:)`
    @Test("async methods need no queue", .timeLimit(.minutes(2))) func asyncMethodsNeedNoQueue() async throws {
        let server = try ScriptedServer { connection in
            try connection.send(connection.receive(through: "\n"))
            try connection.waitForClose()
        }
        defer { server.stop() }
        try await URLSession.withSuspendedQueue { session in
            let task = session.streamTask(to: server)
            task.resume()
            try await task.write(Data("a\n".utf8), timeout: 60)
            let (data, isAtEnd) = try await task.readData(ofMinLength: 2, maxLength: 2, timeout: 60)
            #expect(data == Data("a\n".utf8))
            #expect(!isAtEnd)
        }
    }

    // STREAM-2, STREAM-3, S-75: to the end of the stream and after that of the task
    @Test("async methods need no queue at the end", .timeLimit(.minutes(2))) func endWithoutQueue() async throws {
        let server = try ScriptedServer { connection in
            try connection.send("a")
            try connection.finishSending()
            try connection.waitForClose()
        }
        defer { server.stop() }
        try await URLSession.withSuspendedQueue { session in
            let task = session.streamTask(to: server)
            task.resume()
            let (data, _) = try await task.readData(ofMinLength: 2, maxLength: 2, timeout: 60)
            #expect(data == Data("a".utf8))
            let (rest, isAtEnd) = try await task.readData(ofMinLength: 1, maxLength: 1, timeout: 60)
            #expect(rest == nil && isAtEnd)
            task.cancel()
            await #expect(throws: URLError.self) { try await task.write(Data(count: 1), timeout: 60) }
        }
    }

    // S-34, STREAM-2, STREAM-3, STREAM-5, STREAM-8, T-12
    @Test("both ends send, and both close") func bothEndsSend() async throws {
        let server = try ScriptedServer { connection in
            try connection.send("hello\n")
            let answer = try connection.receive(through: "\n")
            try connection.send(answer)
            try connection.waitForClose()
        }
        defer { server.stop() }
        let calls = try await run(server) { task, delegate in
            #expect(task.originalRequest == nil)
            #expect(task.currentRequest == nil)
            delegate.read(task, 6, 100)
            task.resume()
            try await delegate.calls.wait(for: .read("hello\n", false, nil))
            delegate.write(task, "and you\n")
            try await delegate.calls.wait(for: .written(nil))
            delegate.read(task, 8, 8)
            try await delegate.calls.wait(for: .read("and you\n", false, nil))
            // Before the peer may read the end, with which the task is over.
            delegate.read(task, 1, 10)
            task.closeWrite()
        }
        #expect(
            calls == [
                .created(1), .read("hello\n", false, nil), .written(nil), .read("and you\n", false, nil),
                .writeClosed(1), .readClosed(1), .read(nil, true, nil), .completed(1, nil), .invalid,
            ])
        try await server.finish()
        #expect(try await server.connection(0).end == .finished)
    }

    // COOK-25: whatever is said there, it is no HTTP
    @Test("no cookie is sent or stored") func noCookie() async throws {
        let server = try ScriptedServer { connection in
            let received = try connection.receive(through: "\r\n\r\n")
            try connection.send("HTTP/1.1 200 OK\r\nSet-Cookie: c=d\r\n\r\n")
            try connection.send(received)
            connection.close()
        }
        defer { server.stop() }
        let storage = HTTPCookieStorage()
        storage.setCookie(
            try #require(HTTPCookie(properties: [.name: "a", .value: "b", .domain: "127.0.0.1", .path: "/"])))
        let request = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        _ = try await run(server, RecordingStreamDelegate(), { $0.httpCookieStorage = storage }) { task, _ in
            task.resume()
            try await task.write(Data(request.utf8), timeout: 60)
            var text = ""
            var isAtEnd = false
            while !isAtEnd {
                let (data, isLast) = try await task.readData(ofMinLength: 1, maxLength: 1_000, timeout: 60)
                text += String(decoding: data ?? Data(), as: UTF8.self)
                isAtEnd = isLast
            }
            task.closeWrite()
            #expect(text == "HTTP/1.1 200 OK\r\nSet-Cookie: c=d\r\n\r\n" + request)
        }
        #expect(storage.cookies?.map(\.name) == ["a"])
    }

    // STREAM-2, STREAM-3: the async forms
    @Test("awaited") func awaited() async throws {
        let server = try ScriptedServer { connection in
            while case let bytes = try connection.receive(), !bytes.isEmpty { try connection.send(bytes) }
        }
        defer { server.stop() }
        _ = try await run(server) { task, _ in
            task.resume()
            let body = Data([UInt8].pattern(count: 3_000_000))
            async let written: Void = task.write(body, timeout: 60)
            var received = Data()
            while received.count < body.count {
                let (data, isAtEnd) = try await task.readData(ofMinLength: 1, maxLength: 100_000, timeout: 60)
                received.append(try #require(data))
                #expect(!isAtEnd)
            }
            try await written
            #expect(received == body)
            #expect(task.countOfBytesSent == 3_000_000)
            #expect(task.countOfBytesReceived == 3_000_000)
            task.closeWrite()
            let (data, isAtEnd) = try await task.readData(ofMinLength: 1, maxLength: 1, timeout: 60)
            #expect(data == nil)
            #expect(isAtEnd)
        }
    }

    // STREAM-5: the peer's end does not end what goes out
    @Test("the peer closes first") func thePeerClosesFirst() async throws {
        let server = try ScriptedServer { connection in
            try connection.send("last words")
            try connection.finishSending()
            #expect(try connection.receive(exactly: 5) == Array("reply".utf8))
            try connection.waitForClose()
        }
        defer { server.stop() }
        let calls = try await run(server) { task, delegate in
            task.resume()
            try await delegate.calls.wait(for: .readClosed(1))
            delegate.read(task, 1, 4)
            delegate.read(task, 100, 100)
            try await delegate.calls.wait(for: .read(" words", true, nil))
            delegate.write(task, "reply")
            task.closeWrite()
        }
        #expect(
            calls == [
                .created(1), .readClosed(1), .read("last", false, nil), .read(" words", true, nil), .written(nil),
                .writeClosed(1), .completed(1, nil), .invalid,
            ])
        try await server.finish()
    }

    // STREAM-3, STREAM-5: accepted bytes arrive, although the peer sends to a closed read side
    @Test("written after the reading was closed") func writtenAfterTheReadingWasClosed() async throws {
        let isOver = Signal("the end of the task")
        let count = 1_000_000
        var options = ScriptedServer.Options()
        options.receiveBufferSize = 4096
        let server = try ScriptedServer(options) { connection in
            try connection.wait(for: isOver)
            try connection.send("go on")
            #expect(try connection.receive(exactly: count).count == count)
            try connection.waitForClose()
        }
        defer { server.stop() }
        let calls = try await run(server) { task, delegate in
            task.resume()
            task.closeRead()
            task.write(Data(count: count), timeout: 0) { [calls = delegate.calls] in
                calls.record(.written($0?.urlErrorCode))
            }
            task.closeWrite()
            try await delegate.calls.waitUntil("the end") { $0.contains(.completed(1, nil)) }
            isOver.fire()
        }
        #expect(calls == [.created(1), .readClosed(1), .written(nil), .writeClosed(1), .completed(1, nil), .invalid])
        // The server may not even have taken the connection yet.
        #expect(try await server.connection(0).waitForEnd() == .finished)
        try await server.finish()
    }

    // STREAM-2, STREAM-3, STREAM-4
    @Test("cancelled with reads and writes waiting") func cancelled() async throws {
        let server = try ScriptedServer { try $0.stopReading() }
        defer { server.stop() }
        let calls = try await run(server) { task, delegate in
            task.resume()
            delegate.read(task, 1, 1)
            delegate.read(task, 1, 1)
            delegate.write(task, "a")
            try await delegate.calls.wait(for: .written(nil))
            task.write(Data(count: 64_000_000), timeout: 0) { [calls = delegate.calls] in
                calls.record(.written($0?.urlErrorCode))
            }
            task.cancel()
            #expect(task.state == .canceling || task.state == .completed)
        }
        #expect(
            calls == [
                .created(1), .written(nil), .read(nil, false, .cancelled), .read(nil, false, .cancelled),
                .written(.cancelled), .completed(1, .cancelled), .invalid,
            ])
    }

    // STREAM-2, T-62: handlers of operations before the end are called before it
    @Test("cancelled, and then asked for more in the same call") func cancelledAndThenAsked() async throws {
        let server = try ScriptedServer { try $0.stopReading() }
        defer { server.stop() }
        let calls = try await run(server) { task, delegate in
            task.resume()
            task.write(Data("a".utf8), timeout: 0) { [calls = delegate.calls] error in
                calls.record(.written(error?.urlErrorCode))
                task.cancel()
                delegate.read(task, 1, 1)
                task.write(Data("b".utf8), timeout: 0) { calls.record(.written($0?.urlErrorCode)) }
            }
        }
        #expect(
            calls == [
                .created(1), .written(nil), .read(nil, false, .cancelled), .written(.cancelled),
                .completed(1, .cancelled), .invalid,
            ])
    }

    // STREAM-4, T-6
    @Test("cancelled before it was resumed") func cancelledBefore() async throws {
        let server = try ScriptedServer { try $0.waitForClose() }
        defer { server.stop() }
        let calls = try await run(server) { task, delegate in
            delegate.read(task, 1, 1)
            task.cancel()
        }
        #expect(
            calls == [.created(1), .read(nil, false, .cancelled), .completed(1, .cancelled), .invalid])
        #expect(server.connectionCount == 0)
    }

    // STREAM-4
    @Test("forgotten before it was resumed") func forgotten() async throws {
        let delegate = RecordingStreamDelegate()
        let session = URLSession(delegate)
        do {
            let task = session.streamTask(withHostName: "localhost", port: 1)
            delegate.read(task, 1, 1)
            delegate.write(task, "a")
        }
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .read(nil, false, .cancelled), .written(.cancelled), .completed(1, .cancelled), .invalid,
            ])
    }

    // STREAM-2: what is asked for later fails too
    @Test("after the end") func afterTheEnd() async throws {
        let server = try ScriptedServer { try $0.waitForClose() }
        defer { server.stop() }
        let delegate = RecordingStreamDelegate()
        let session = URLSession(delegate)
        let task = session.streamTask(to: server)
        task.resume()
        task.cancel()
        _ = try await delegate.calls(untilCompletions: 1)
        delegate.read(task, 1, 1)
        delegate.write(task, "a")
        try await delegate.calls.wait(for: .read(nil, false, .cancelled))
        try await delegate.calls.wait(for: .written(.cancelled))
        session.invalidateAndCancel()
        _ = try await delegate.callsUntilInvalid()
    }

    // STREAM-2, STREAM-8
    @Test("the peer resets the connection") func reset() async throws {
        let server = try ScriptedServer { connection in
            // Not before the client knows that it is connected.
            _ = try connection.receive(exactly: 1)
            connection.reset()
        }
        defer { server.stop() }
        let calls = try await run(server) { task, delegate in
            task.resume()
            delegate.read(task, 1, 1)
            delegate.read(task, 1, 1)
            delegate.write(task, "x")
            try await delegate.calls.waitUntil("the end") { $0.completionCount == 1 }
            delegate.write(task, "a")
            try await delegate.calls.wait(for: .written(.networkConnectionLost))
        }
        #expect(
            calls == [
                .created(1), .written(nil), .read(nil, false, .networkConnectionLost),
                .read(nil, false, .networkConnectionLost), .completed(1, .networkConnectionLost),
                .written(.networkConnectionLost), .invalid,
            ])
    }

    // STREAM-2, STREAM-3: one direction's
    @Test("a read's time is over") func readTimeout() async throws {
        let server = try ScriptedServer { connection in
            #expect(try connection.receive(exactly: 1) == [0x61])
            try connection.waitForClose()
        }
        defer { server.stop() }
        let calls = try await run(server) { task, delegate in
            task.resume()
            delegate.read(task, 1, 1, timeout: 0.05)
            delegate.read(task, 1, 1)
            try await delegate.calls.waitFor(count: 3)
            delegate.write(task, "a")
            task.closeWrite()
        }
        #expect(
            calls == [
                .created(1), .read(nil, false, .timedOut), .read(nil, false, .timedOut), .written(nil),
                .writeClosed(1), .completed(1, .timedOut), .invalid,
            ])
        try await server.finish()
    }

    // STREAM-3
    @Test("a write's time is over") func writeTimeout() async throws {
        let server = try ScriptedServer { try $0.stopReading() }
        defer { server.stop() }
        let calls = try await run(server) { task, delegate in
            task.resume()
            task.write(Data(count: 64_000_000), timeout: 0.2) { [calls = delegate.calls] in
                calls.record(.written($0?.urlErrorCode))
            }
            delegate.write(task, "a")
            try await delegate.calls.waitFor(count: 3)
            task.closeRead()
        }
        #expect(
            calls == [
                .created(1), .written(.timedOut), .written(.timedOut), .readClosed(1), .completed(1, .timedOut),
                .invalid,
            ])
    }

    // C-8
    @Test("the task's time is over") func resourceTimeout() async throws {
        let server = try ScriptedServer { try $0.waitForClose() }
        defer { server.stop() }
        let calls = try await run(server, RecordingStreamDelegate(), { $0.timeoutIntervalForResource = 0.1 }) {
            task, delegate in
            delegate.read(task, 1, 1)
            task.resume()
        }
        #expect(calls == [.created(1), .read(nil, false, .timedOut), .completed(1, .timedOut), .invalid])
    }

    // STREAM-1, ERR-5
    @Test(
        "hosts that cannot be reached",
        arguments: [
            ("127.0.0.1", 1, URLError.Code.cannotConnectToHost), ("nothing.invalid", 80, .cannotFindHost),
            ("localhost", 65_536, .badURL), ("localhost", -1, .badURL), ("", 80, .cannotFindHost),
            ("a/b", 80, .cannotFindHost), ("localhost/\u{301}b", 1, .cannotFindHost),
            ("a@\u{301}localhost", 1, .cannotFindHost),
            ("::1", 1, .cannotConnectToHost), ("[::1]", 1, .cannotConnectToHost),
        ])
    func unreachable(host: String, port: Int, code: URLError.Code) async throws {
        let delegate = RecordingStreamDelegate()
        let session = URLSession(delegate)
        let task = session.streamTask(withHostName: host, port: port)
        delegate.read(task, 1, 1)
        task.resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .read(nil, false, code), .completed(1, code), .invalid,
            ])
    }

    // T-2, T-3: neither bytes nor time pass
    @Test("suspended") func suspended() async throws {
        let server = try ScriptedServer { connection in
            try connection.send("hello")
            try connection.waitForClose()
        }
        defer { server.stop() }
        let calls = try await run(server) { task, delegate in
            task.resume()
            delegate.read(task, 1, 1)
            try await delegate.calls.wait(for: .read("h", false, nil))
            task.suspend()
            delegate.read(task, 4, 4, timeout: 30)
            delegate.write(task, "a")
            // The loop has been round since.
            await withCheckedContinuation { done in
                URLSession.shared.flush { done.resume() }
            }
            #expect(delegate.calls.count == 2)
            task.resume()
            try await delegate.calls.wait(for: .read("ello", false, nil))
            try await delegate.calls.wait(for: .written(nil))
            task.closeRead()
            task.closeWrite()
        }
        #expect(calls.suffix(2) == [.completed(1, nil), .invalid])
    }

    // T-2, T-3, C-6: a task that was suspended before it began, and once more after that
    @Test("suspended twice") func suspendedTwice() async throws {
        let server = try ScriptedServer { connection in
            try connection.send("hello")
            try connection.waitForClose()
        }
        defer { server.stop() }
        let calls = try await run(server) { task, delegate in
            task.resume()
            task.suspend()
            task.resume()
            delegate.read(task, 1, 1)
            try await delegate.calls.wait(for: .read("h", false, nil))
            task.suspend()
            delegate.read(task, 4, 4, timeout: 30)
            task.resume()
            try await delegate.calls.wait(for: .read("ello", false, nil))
            task.closeRead()
            task.closeWrite()
        }
        #expect(calls.suffix(2) == [.completed(1, nil), .invalid])
    }

    // STREAM-8, T-65: the peer has to wait for reads
    @Test("reading stops without read operations") func backPressure() async throws {
        let server = try ScriptedServer { connection in
            try connection.send([UInt8](repeating: 0x61, count: 32_000_000))
            try connection.finishSending()
            try connection.waitForClose()
        }
        defer { server.stop() }
        _ = try await run(server) { task, _ in
            task.resume()
            let accepted = try await server.connection(0).waitUntilBlocked()
            #expect(accepted < 24_000_000)
            var count = 0
            var isAtEnd = false
            while !isAtEnd {
                let part = try await task.readData(ofMinLength: 1_000_000, maxLength: 1_500_000, timeout: 60)
                count += part.0?.count ?? 0
                isAtEnd = part.1
            }
            #expect(count == 32_000_000)
            task.closeWrite()
        }
    }

    // T-61, S-83
    @Test("the session is invalidated") func invalidated() async throws {
        let server = try ScriptedServer { try $0.waitForClose() }
        defer { server.stop() }
        let delegate = RecordingStreamDelegate()
        let session = URLSession(delegate)
        let task = session.streamTask(to: server)
        delegate.read(task, 1, 1)
        task.resume()
        #expect(await session.allTasks == [task])
        session.invalidateAndCancel()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .read(nil, false, .cancelled), .completed(1, .cancelled), .invalid,
            ])
    }

    // STREAM-4, T-5, T-7: whatever is under way, each read, write and task ends once
    @Test("cancelled at any moment") func cancelledAtAnyMoment() async throws {
        let tls = try TLSServer(TrustedAuthority.server())
        let server = try ScriptedServer { connection in
            do {
                try connection.startTLS(tls)
                while case let bytes = try connection.receive(), !bytes.isEmpty { try connection.send(bytes) }
            } catch {
                return
            }
        }
        defer { server.stop() }
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SplitMix(state: seed)
        for index in 0..<200 {
            let delegate = RecordingStreamDelegate()
            let session = URLSession(delegate)
            let task = session.streamTask(to: server)
            // One of the turns of the loop that the conversation takes.
            let delay = Int.random(in: 0..<4_000, using: &random)
            DispatchQueue.global().asyncAfter(deadline: .now() + .microseconds(delay)) {
                if index.isMultiple(of: 2) { task.cancel() } else { session.invalidateAndCancel() }
            }
            task.resume()
            task.startSecureConnection()
            for _ in 0..<5 {
                delegate.write(task, "hello")
                delegate.read(task, 5, 5)
            }
            if index.isMultiple(of: 3) { task.captureStreams() } else { task.closeWrite() }
            delegate.read(task, 1, 1)
            let outcomes = try await delegate.calls.waitUntil("all answers, seed \(seed)") { calls in
                calls.count { if case .read = $0 { true } else { false } } == 6
                    && calls.count { if case .written = $0 { true } else { false } } == 5
                    && calls.contains {
                        switch $0 {
                        case .completed, .captured: true
                        default: false
                        }
                    }
            }
            #expect(outcomes.completionCount + outcomes.count { $0 == .captured(1) } == 1, "seed \(seed)")
            session.invalidateAndCancel()
            // What was asked for after the end was answered after it.
            let calls = try await delegate.calls.wait(for: .invalid)
            #expect(calls.completionCount == outcomes.completionCount, "seed \(seed)")
            #expect(delegate.faults.events == [], "seed \(seed)")
        }
    }
}
