import Foundation
import TestSupport
import Testing
import URLLoading

/// The clock of silence and that of the whole task. Times are short and real; what must not time out is held for
/// longer than they are by the server, and what must is awaited.
@Suite(.leavesNothing) struct TimeoutTests {
    private func calls(
        _ request: URLRequest, _ configure: (URLSessionConfiguration) -> Void
    ) async throws -> [Call] {
        let delegate = RecordingDelegate()
        let session = URLSession(delegate, configure)
        session.dataTask(with: request).resume()
        session.finishTasksAndInvalidate()
        return try await delegate.callsUntilInvalid()
    }

    /// A server that says a few bytes, then nothing.
    private func silentServer(after text: String) throws -> ScriptedServer {
        try ScriptedServer(steps: [.expectRequest, .send(text), .waitForClose])
    }

    // C-6, S-91, CONN-15
    @Test("no response in time") func noResponseInTime() async throws {
        let server = try silentServer(after: "")
        defer { server.stop() }
        #expect(
            try await calls(URLRequest(url: server.url())) { $0.timeoutIntervalForRequest = 0.1 } == [
                .created(1), .metrics(1), .completed(1, .timedOut), .invalid,
            ])
    }

    // C-6, S-91
    @Test("silence within the body") func silenceWithinTheBody() async throws {
        let server = try silentServer(after: "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
        defer { server.stop() }
        #expect(
            try await calls(URLRequest(url: server.url())) { $0.timeoutIntervalForRequest = 0.1 } == [
                .created(1), .response(1, 200), .data(1, "hello"), .metrics(1), .completed(1, .timedOut), .invalid,
            ])
    }

    // CONN-15: connecting counts
    @Test("a server that does not accept") func aServerThatDoesNotAccept() async throws {
        let saturated = try SaturatedPort()
        let url = try #require(URL(string: "http://127.0.0.1:\(saturated.port)/"))
        #expect(
            try await calls(URLRequest(url: url)) { $0.timeoutIntervalForRequest = 0.1 } == [
                .created(1), .metrics(1), .completed(1, .timedOut), .invalid,
            ])
    }

    // C-6, S-91: each arrival starts the interval anew
    @Test("bytes that come in time keep the task alive beyond the interval")
    func bytesThatComeInTimeKeepTheTaskAliveBeyondTheInterval() async throws {
        let server = try ScriptedServer { connection in
            _ = try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n")
            for _ in 0..<8 {
                // Eight times a fifth of the interval.
                let pause = Signal("a pause")
                #expect(throws: DeadlineExceeded.self) { try pause.wait(within: .milliseconds(200)) }
                try connection.send("x")
            }
            try connection.waitForClose()
        }
        defer { server.stop() }
        #expect(
            try await calls(URLRequest(url: server.url())) { $0.timeoutIntervalForRequest = 1 } == [
                .created(1), .response(1, 200), .data(1, "xxxxxxxx"), .metrics(1), .completed(1, nil), .invalid,
            ])
    }

    // CONN-15, CONN-17: sending is activity too
    @Test("a body that is taken slowly keeps the task alive") func aBodyThatIsTakenSlowlyKeepsTheTaskAlive()
        async throws
    {
        var options = ScriptedServer.Options()
        options.receiveBufferSize = 65_536
        let server = try ScriptedServer(options) { connection in
            let head = try connection.readRequestHead()
            for _ in 0..<8 {
                let pause = Signal("a pause")
                #expect(throws: DeadlineExceeded.self) { try pause.wait(within: .milliseconds(200)) }
                _ = try connection.receive(exactly: 2_000_000)
            }
            try connection.send(.text("x"), to: head)
            try connection.waitForClose()
        }
        defer { server.stop() }
        var request = URLRequest(url: server.url())
        request.httpMethod = "POST"
        request.httpBody = Data(count: 16_000_000)
        let calls = try await calls(request) { $0.timeoutIntervalForRequest = 1 }
        #expect(calls.suffix(5) == [.response(1, 200), .data(1, "x"), .metrics(1), .completed(1, nil), .invalid])
    }

    // C-8, S-92
    @Test("the resource timer is not moved by activity") func theResourceTimerIsNotMovedByActivity() async throws {
        let server = try ScriptedServer.answering(.endless)
        defer { server.stop() }
        let delegate = CountingDelegate()
        let session = URLSession(delegate) {
            $0.timeoutIntervalForRequest = 5
            $0.timeoutIntervalForResource = 0.2
        }
        session.dataTask(with: server.url()).resume()
        session.finishTasksAndInvalidate()
        try await delegate.ended.wait()
        #expect(delegate.error.current == .timedOut)
        #expect(delegate.received.current > 0)
    }

    // C-8: one clock for all that it takes, whatever is begun anew
    @Test("redirects do not move the resource timer") func redirectsDoNotMoveTheResourceTimer() async throws {
        let server = try ScriptedServer { connection in
            while let request = try connection.nextRequest() {
                let pause = Signal("a pause")
                _ = try? pause.wait(within: .milliseconds(100))
                try connection.send(.redirect(to: "/"), to: request)
            }
        }
        defer { server.stop() }
        let begin = ContinuousClock.now
        #expect(
            try await calls(URLRequest(url: server.url())) { $0.timeoutIntervalForResource = 0.5 }.suffix(3)
                == [.metrics(1), .completed(1, .timedOut), .invalid])
        #expect(ContinuousClock.now - begin >= .milliseconds(500))
        #expect(server.requests.count < 8)
    }

    // S-93, CONN-24: the line counts for the resource timer, not for the request timer
    @Test("waiting for a connection") func waitingForAConnection() async throws {
        let held = Signal("the first response")
        let server = try ScriptedServer.answering { request in
            request.path == "/first" ? CannedResponse.text("1").held(until: held) : .text("x")
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate) {
            $0.httpMaximumConnectionsPerHost = 1
            $0.timeoutIntervalForRequest = 10
            $0.timeoutIntervalForResource = 0.4
        }
        let first = session.dataTask(with: server.url("/first"))
        first.resume()
        try await server.waitForRequests(1)
        // Keeps the connection, and its own clocks stand still.
        first.suspend()
        // The request timer of this one would have ended it before the resource timer does.
        var request = URLRequest(url: server.url("/second"))
        request.timeoutInterval = 0.05
        let begin = ContinuousClock.now
        session.dataTask(with: request).resume()
        #expect(
            try await delegate.calls(untilCompletions: 1) == [
                .created(1), .created(2), .metrics(2), .completed(2, .timedOut),
            ])
        #expect(ContinuousClock.now - begin > .milliseconds(300))
        #expect(server.requests.map(\.path) == ["/first"])
        session.invalidateAndCancel()
        _ = try await delegate.callsUntilInvalid()
    }

    // CONN-24: once a connection is there the request timer starts
    @Test("the request timer starts with the connection") func theRequestTimerStartsWithTheConnection() async throws {
        let held = Signal("the first response")
        let server = try ScriptedServer.answering { request in
            request.path == "/first" ? CannedResponse.text("1").held(until: held) : .text("x")
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate) { $0.httpMaximumConnectionsPerHost = 1 }
        session.dataTask(with: server.url("/first")).resume()
        try await server.waitForRequests(1)
        var request = URLRequest(url: server.url("/second"))
        request.timeoutInterval = 0.2
        session.dataTask(with: request).resume()
        let pause = Signal("a pause")
        await #expect(throws: DeadlineExceeded.self) { try await pause.wait(within: .milliseconds(400)) }
        #expect(delegate.calls.events == [.created(1), .created(2)])
        held.fire()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(calls.of(2) == [.created(2), .response(2, 200), .data(2, "x"), .metrics(2), .completed(2, nil)])
    }

    // C-7: an explicit value of the request wins in both directions
    @Test(
        "request or configuration",
        arguments: [(nil, 0.1, true), (0.1, 30, true), (30, 0.1, false)] as [(Double?, Double, Bool)])
    func requestOrConfiguration(own: Double?, configured: Double, timesOut: Bool) async throws {
        let held = Signal("the response")
        let server = try ScriptedServer.answering(CannedResponse.text("x").held(until: held))
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate) { $0.timeoutIntervalForRequest = configured }
        var request = URLRequest(url: server.url())
        if let own { request.timeoutInterval = own }
        session.dataTask(with: request).resume()
        if !timesOut {
            let pause = Signal("a pause")
            await #expect(throws: DeadlineExceeded.self) { try await pause.wait(within: .milliseconds(400)) }
            held.fire()
        }
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(calls.dropLast().last == .completed(1, timesOut ? .timedOut : nil))
    }

    // T-1, T-2, T-4, CONN-16: neither clock runs while the task is suspended
    @Test("a suspended task does not time out", arguments: [true, false]) func aSuspendedTaskDoesNotTimeOut(
        resource: Bool
    ) async throws {
        let held = Signal("the response")
        let server = try ScriptedServer.answering(CannedResponse.text("x").held(until: held))
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate) {
            if resource { $0.timeoutIntervalForResource = 0.3 } else { $0.timeoutIntervalForRequest = 0.3 }
        }
        let task = session.dataTask(with: server.url())
        task.resume()
        try await server.waitForRequests(1)
        task.suspend()
        let pause = Signal("a pause")
        await #expect(throws: DeadlineExceeded.self) { try await pause.wait(within: .milliseconds(600)) }
        #expect(task.state == .suspended)
        held.fire()
        task.resume()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(calls.dropLast().last == .completed(1, nil))
    }

    // T-2, CONN-16: after going on they run again
    @Test("a resumed task times out", arguments: [true, false]) func aResumedTaskTimesOut(resource: Bool) async throws {
        let server = try silentServer(after: "")
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate) {
            if resource { $0.timeoutIntervalForResource = 0.2 } else { $0.timeoutIntervalForRequest = 0.2 }
        }
        let task = session.dataTask(with: server.url())
        task.resume()
        try await server.waitForRequests(1)
        task.suspend()
        task.resume()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(calls == [.created(1), .metrics(1), .completed(1, .timedOut), .invalid])
    }

    // C-6, T-43: whoever holds up the flow himself does not time out for it
    @Test("a caller who takes his time does not time out") func aCallerWhoTakesHisTimeDoesNotTimeOut() async throws {
        let server = try ScriptedServer.answering(.text("hello"))
        defer { server.stop() }
        let delegate = RecordingDelegate()
        delegate.answer = { _, handler in
            Thread {
                let pause = Signal("a pause")
                _ = try? pause.wait(within: .milliseconds(500))
                handler(.allow)
            }.start()
        }
        let session = URLSession(delegate) { $0.timeoutIntervalForRequest = 0.2 }
        session.dataTask(with: server.url()).resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .response(1, 200), .data(1, "hello"), .metrics(1), .completed(1, nil), .invalid,
            ])
    }
}
