import Foundation
import TestSupport
import Testing
import URLLoading

/// Data tasks that become stream tasks.
@Suite(.leavesNothing) struct BecomeStreamTests {
    private func upgrade(_ server: ScriptedServer) -> URLRequest {
        var request = URLRequest(url: server.url())
        request.setValue("echo", forHTTPHeaderField: "Upgrade")
        return request
    }

    private func run(
        _ request: URLRequest, _ delegate: RecordingStreamDelegate = RecordingStreamDelegate(),
        _ use: @escaping @Sendable (URLSessionStreamTask, RecordingStreamDelegate) -> Void
    ) async throws -> [Call] {
        delegate.answer = { $1(.becomeStream) }
        delegate.becameStream = { [unowned delegate] in use($0, delegate) }
        let session = URLSession(delegate)
        session.dataTask(with: request).resume()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(delegate.faults.events == [])
        return calls
    }

    /// Switches protocols, sends bytes with the 101 response, and echoes.
    private func upgradingServer(tls: TLSServerOptions? = nil, saying text: String = "welcome") throws
        -> ScriptedServer
    {
        try ScriptedServer(tls: tls) { connection in
            let request = try connection.readRequest()
            #expect(request["Upgrade"] == "echo")
            #expect(request["Connection"] == "Upgrade")
            try connection.send(
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n\(text)")
            while case let bytes = try connection.receive(), !bytes.isEmpty { try connection.send(bytes) }
        }
    }

    // T-45, S-34, STREAM-1
    @Test("after an upgrade", arguments: [false, true]) func afterAnUpgrade(isSecure: Bool) async throws {
        let server = try upgradingServer(tls: isSecure ? try TrustedAuthority.server() : nil)
        defer { server.stop() }
        let facts = EventRecorder<String>()
        let calls = try await run(upgrade(server)) { task, delegate in
            facts.record("\((task.response as? HTTPURLResponse)?.statusCode ?? 0)")
            facts.record("\(task.originalRequest?.url == server.url()), \(task.currentRequest?.url == server.url())")
            facts.record("\(task.state == .running)")
            delegate.read(task, 7, 7)
            delegate.write(task, "ping")
            delegate.read(task, 4, 4)
            task.closeWrite()
            delegate.read(task, 1, 1)
        }
        #expect(facts.events == ["101", "true, true", "true"])
        #expect(calls.prefix(3) == [.created(1), .response(1, 101), .became(1, 2)])
        let reads = calls.filter { if case .read = $0 { true } else { false } }
        #expect(reads == [.read("welcome", false, nil), .read("ping", false, nil), .read(nil, true, nil)])
        #expect(calls.contains(.written(nil)))
        #expect(calls.suffix(3) == [.metrics(2), .completed(2, nil), .invalid])
        #expect(calls.of(1) == [.created(1), .response(1, 101), .became(1, 2)])
    }

    // T-45: what follows the head, as it is on the wire
    @Test(
        "after any other response",
        arguments: [
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello, and more",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\nno gzip at all",
            "HTTP/1.1 204 No Content\r\n\r\nwhatever",
        ])
    func afterAnyOtherResponse(response: String) async throws {
        let body = response.components(separatedBy: "\r\n\r\n").dropFirst().joined(separator: "\r\n\r\n")
        let server = try ScriptedServer { connection in
            _ = try connection.readRequest()
            try connection.send(response)
            #expect(try connection.receive(exactly: 2) == Array("ok".utf8))
            try connection.waitForClose()
        }
        defer { server.stop() }
        let calls = try await run(URLRequest(url: server.url())) { task, delegate in
            delegate.read(task, body.utf8.count, 1_000)
            delegate.write(task, "ok")
            task.closeWrite()
            task.closeRead()
        }
        #expect(calls.contains(.read(body, false, nil)))
        #expect(calls.contains(.written(nil)))
        #expect(calls.suffix(3) == [.metrics(2), .completed(2, nil), .invalid])
        try await server.finish()
    }

    // T-45, STREAM-7: right away
    @Test("captured at once") func capturedAtOnce() async throws {
        let server = try upgradingServer()
        defer { server.stop() }
        let delegate = RecordingStreamDelegate()
        let text = EventRecorder<String>()
        delegate.captured = { input, output in
            input.open()
            var bytes = [UInt8](repeating: 0, count: 7)
            let count = bytes.withUnsafeMutableBufferPointer { buffer in
                buffer.baseAddress.map { input.read($0, maxLength: 7) } ?? -1
            }
            text.record(String(decoding: bytes.prefix(max(0, count)), as: UTF8.self))
        }
        let calls = try await run(upgrade(server), delegate) { task, _ in task.captureStreams() }
        #expect(calls == [.created(1), .response(1, 101), .became(1, 2), .captured(2), .invalid])
        #expect(text.events.count == 1)
        #expect("welcome".hasPrefix(text.events.first ?? "?"))
        try await server.finish()
    }

    // T-45: the connection is not shared any more
    @Test("the pool makes another connection") func thePoolMakesAnother() async throws {
        let server = try ScriptedServer { connection in
            _ = try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            try connection.waitForClose()
        }
        defer { server.stop() }
        let delegate = RecordingStreamDelegate()
        let stream = Watched<URLSessionStreamTask?>(nil)
        let became = Signal("a stream")
        delegate.answer = { task, answer in answer(task.taskIdentifier == 1 ? .becomeStream : .allow) }
        delegate.becameStream = { task in
            stream.withValue { $0 = task }
            became.fire()
        }
        let session = URLSession(delegate) { $0.httpMaximumConnectionsPerHost = 1 }
        session.dataTask(with: server.url()).resume()
        try await became.wait()
        session.dataTask(with: server.url()).resume()
        _ = try await delegate.calls(untilCompletions: 1)
        #expect(server.connectionCount == 2)
        stream.current?.cancel()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(calls.of(3) == [.created(3), .response(3, 200), .data(3, "ok"), .metrics(3), .completed(3, nil)])
        #expect(calls.of(2) == [.metrics(2), .completed(2, .cancelled)])
    }

    // T-43: an unused 101 response has no body
    @Test("an upgrade that is only let through") func anUpgradeThatIsLetThrough() async throws {
        let server = try upgradingServer()
        defer { server.stop() }
        let delegate = RecordingStreamDelegate()
        let session = URLSession(delegate)
        session.dataTask(with: upgrade(server)).resume()
        let handled = EventRecorder<Call>()
        session.dataTask(with: upgrade(server), completionHandler: handled.handler).resume()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(calls.of(1) == [.created(1), .response(1, 101), .metrics(1), .completed(1, nil)])
        #expect(handled.events == [.handled("", 101, nil)])
    }

    // T-43, T-5
    @Test("cancelled before it became one") func cancelledBefore() async throws {
        let server = try upgradingServer()
        defer { server.stop() }
        let delegate = RecordingStreamDelegate()
        delegate.during = { call, _, task in if call == .response(1, 101) { task?.cancel() } }
        #expect(
            try await run(upgrade(server), delegate) { _, _ in } == [
                .created(1), .response(1, 101), .metrics(1), .completed(1, .cancelled), .invalid,
            ])
    }

    // T-45, STREAM-4
    @Test("cancelled as it becomes one", arguments: [true, false]) func cancelledAs(isDataTask: Bool) async throws {
        let server = try upgradingServer()
        defer { server.stop() }
        let delegate = RecordingStreamDelegate()
        if isDataTask { delegate.during = { call, _, task in if call == .became(1, 2) { task?.cancel() } } }
        let calls = try await run(upgrade(server), delegate) { task, delegate in
            delegate.read(task, 100, 100)
            if !isDataTask { task.cancel() }
        }
        #expect(
            calls == [
                .created(1), .response(1, 101), .became(1, 2), .read(nil, false, .cancelled), .metrics(2),
                .completed(2, .cancelled), .invalid,
            ])
    }

    // T-45: there is no connection
    @Test("a response that came over no connection") func noConnection() async throws {
        let request = URLRequest(url: try #require(URL(string: "data:,hello")))
        let calls = try await run(request) { task, delegate in delegate.read(task, 1, 1) }
        #expect(
            calls.filter { if case .metrics = $0 { false } else { true } } == [
                .created(1), .response(1, 0), .became(1, 2), .read(nil, false, .networkConnectionLost),
                .completed(2, .networkConnectionLost), .invalid,
            ])
    }

    // T-45, T-3
    @Test("the data task was suspended") func suspended() async throws {
        let server = try upgradingServer()
        defer { server.stop() }
        let delegate = RecordingStreamDelegate()
        delegate.answer = { task, answer in
            task.suspend()
            answer(.becomeStream)
        }
        delegate.becameStream = { [unowned delegate] task in
            delegate.read(task, 7, 7)
            task.closeRead()
            task.closeWrite()
        }
        let session = URLSession(delegate)
        session.dataTask(with: upgrade(server)).resume()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(calls.contains(.read("welcome", false, nil)))
        #expect(calls.suffix(2) == [.completed(2, nil), .invalid])
    }
}
