import Foundation
import LoadingSemantics
import LoadingTestSupport
import TestSupport
import Testing
import URLLoading

/// The idle timeout and the resource timeout, with a virtual clock that is advanced to a nanosecond before a timeout,
/// and then by one nanosecond. The first test uses real time.
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

    /// A session with a virtual clock.
    private func session(
        _ delegate: RecordingDelegate, on stepped: SteppedLoop,
        _ configure: (URLSessionConfiguration) -> Void = { _ in }
    ) -> URLSession {
        URLSession(delegate) {
            $0.loop = stepped.loop
            configure($0)
        }
    }

    /// Advances the clock by a timeout, and checks that there were no callbacks before its last nanosecond.
    private func passes(
        _ timeout: Int64, on stepped: SteppedLoop, without delegate: RecordingDelegate,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await stepped.settle()
        let before = delegate.calls.events
        try await stepped.step(by: timeout - 1)
        #expect(delegate.calls.events == before, sourceLocation: sourceLocation)
        try await stepped.step(by: 1)
    }

    /// A server that sends a few bytes, then nothing.
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
        let stepped = try SteppedLoop()
        let delegate = RecordingDelegate()
        let session = session(delegate, on: stepped)
        session.dataTask(with: server.url()).resume()
        session.finishTasksAndInvalidate()
        try await delegate.calls.wait(for: .data(1, "hello"))
        try await passes(TimeLimits.seconds(60), on: stepped, without: delegate)
        #expect(
            delegate.calls.events == [
                .created(1), .response(1, 200), .data(1, "hello"), .metrics(1), .completed(1, .timedOut), .invalid,
            ])
    }

    // CONN-15: connecting counts
    @Test("a server that does not accept") func aServerThatDoesNotAccept() async throws {
        let saturated = try SaturatedPort()
        let url = try #require(URL(string: "http://127.0.0.1:\(saturated.port)/"))
        let stepped = try SteppedLoop()
        let delegate = RecordingDelegate()
        let session = session(delegate, on: stepped)
        session.dataTask(with: url).resume()
        session.finishTasksAndInvalidate()
        try await passes(TimeLimits.seconds(60), on: stepped, without: delegate)
        #expect(delegate.calls.events == [.created(1), .metrics(1), .completed(1, .timedOut), .invalid])
    }

    // C-6, S-91: each arrival starts the interval anew
    @Test("received bytes reset the idle timeout")
    func receivedBytesResetTheIdleTimeout() async throws {
        let permits = Permits()
        let server = try ScriptedServer.answering(.paced(Array("xxxxxxxx".utf8), portion: 1, by: permits))
        defer { server.stop() }
        let stepped = try SteppedLoop()
        let delegate = RecordingDelegate()
        let session = session(delegate, on: stepped)
        session.dataTask(with: server.url()).resume()
        session.finishTasksAndInvalidate()
        try await delegate.calls.wait(for: .response(1, 200))
        for count in 1...8 {
            // Eight times nearly the interval.
            try await passes(TimeLimits.seconds(60) - 1, on: stepped, without: delegate)
            permits.release()
            try await delegate.calls.waitUntil { $0.filter { $0 == .data(1, "x") }.count == count }
        }
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .response(1, 200), .data(1, "xxxxxxxx"), .metrics(1), .completed(1, nil), .invalid,
            ])
    }

    // CONN-15, CONN-17: sending is activity too
    @Test("a body that is read slowly does not time out") func aBodyThatIsReadSlowly()
        async throws
    {
        var options = ScriptedServer.Options()
        options.receiveBufferSize = 65_536
        let permits = Permits()
        let taken = EventRecorder<Int>()
        let server = try ScriptedServer(options) { connection in
            let head = try connection.readRequestHead()
            for index in 0..<8 {
                try connection.wait(for: permits)
                _ = try connection.receive(exactly: 2_000_000)
                taken.record(index)
            }
            try connection.send(.text("x"), to: head)
            try connection.waitForClose()
        }
        defer { server.stop() }
        var request = URLRequest(url: server.url())
        request.httpMethod = "POST"
        request.httpBody = Data(count: 16_000_000)
        let stepped = try SteppedLoop()
        let delegate = RecordingDelegate()
        let session = session(delegate, on: stepped)
        session.dataTask(with: request).resume()
        session.finishTasksAndInvalidate()
        for count in 1...8 {
            // The look that finds what was taken comes within an eighth of the timeout.
            try await stepped.step(by: TimeLimits.seconds(52))
            #expect(!delegate.calls.events.contains { $0.isCompletion })
            permits.release()
            try await taken.waitFor(count: count)
        }
        let calls = try await delegate.callsUntilInvalid()
        #expect(calls.suffix(5) == [.response(1, 200), .data(1, "x"), .metrics(1), .completed(1, nil), .invalid])
    }

    // C-8, S-92
    @Test("the resource timer is not moved by activity") func theResourceTimerIsNotMovedByActivity() async throws {
        let permits = Permits()
        let server = try ScriptedServer.answering(.paced(Array("xxxxxxxx".utf8), portion: 1, by: permits))
        defer { server.stop() }
        let stepped = try SteppedLoop()
        let delegate = RecordingDelegate()
        let session = session(delegate, on: stepped) { $0.timeoutIntervalForResource = 100 }
        session.dataTask(with: server.url()).resume()
        session.finishTasksAndInvalidate()
        try await delegate.calls.wait(for: .response(1, 200))
        for _ in 0..<2 {
            try await passes(TimeLimits.seconds(40), on: stepped, without: delegate)
            let count = delegate.calls.count
            permits.release()
            try await delegate.calls.waitFor(count: count + 1)
        }
        try await passes(TimeLimits.seconds(20), on: stepped, without: delegate)
        #expect(
            delegate.calls.events.joined == [
                .created(1), .response(1, 200), .data(1, "xx"), .metrics(1), .completed(1, .timedOut), .invalid,
            ])
    }

    // C-8: one clock for all that it takes, whatever is begun anew
    @Test("redirects do not move the resource timer") func redirectsDoNotMoveTheResourceTimer() async throws {
        let permits = Permits()
        let server = try ScriptedServer { connection in
            while let request = try connection.nextRequest() {
                try connection.wait(for: permits)
                try connection.send(.redirect(to: "/"), to: request)
            }
        }
        defer { server.stop() }
        let stepped = try SteppedLoop()
        let delegate = RecordingDelegate()
        let session = session(delegate, on: stepped) { $0.timeoutIntervalForResource = 100 }
        session.dataTask(with: server.url()).resume()
        session.finishTasksAndInvalidate()
        for count in 1...2 {
            try await server.waitForRequests(count)
            try await stepped.step(by: TimeLimits.seconds(40))
            permits.release()
        }
        try await server.waitForRequests(3)
        try await passes(TimeLimits.seconds(20), on: stepped, without: delegate)
        #expect(delegate.calls.events.suffix(3) == [.metrics(1), .completed(1, .timedOut), .invalid])
        #expect(server.requests.count == 3)
    }

    /// A server that answers the first request after the signal, and others at once.
    private func heldServer(_ held: Signal) throws -> ScriptedServer {
        try ScriptedServer.answering { request in
            request.path == "/first" ? CannedResponse.text("1").held(until: held) : .text("x")
        }
    }

    // S-93, CONN-24: the line counts for the resource timer, not for the request timer
    @Test("waiting for a connection") func waitingForAConnection() async throws {
        let server = try heldServer(Signal("the first response"))
        defer { server.stop() }
        let stepped = try SteppedLoop()
        let delegate = RecordingDelegate()
        let session = session(delegate, on: stepped) {
            $0.httpMaximumConnectionsPerHost = 1
            $0.timeoutIntervalForResource = 100
        }
        let first = session.dataTask(with: server.url("/first"))
        first.resume()
        try await server.waitForRequests(1)
        // Keeps the connection, and its own timeouts pause.
        first.suspend()
        // The request timer of this one would have ended it before the resource timer does.
        var request = URLRequest(url: server.url("/second"))
        request.timeoutInterval = 5
        session.dataTask(with: request).resume()
        try await passes(TimeLimits.seconds(100), on: stepped, without: delegate)
        #expect(delegate.calls.events == [.created(1), .created(2), .metrics(2), .completed(2, .timedOut)])
        #expect(server.requests.map(\.path) == ["/first"])
        session.invalidateAndCancel()
        _ = try await delegate.callsUntilInvalid()
    }

    // CONN-24: once a connection is there the request timer starts
    @Test("the request timer starts with the connection") func theRequestTimerStartsWithTheConnection() async throws {
        let held = Signal("the first response")
        let server = try heldServer(held)
        defer { server.stop() }
        let stepped = try SteppedLoop()
        let delegate = RecordingDelegate()
        let session = session(delegate, on: stepped) { $0.httpMaximumConnectionsPerHost = 1 }
        session.dataTask(with: server.url("/first")).resume()
        try await server.waitForRequests(1)
        var request = URLRequest(url: server.url("/second"))
        request.timeoutInterval = 5
        session.dataTask(with: request).resume()
        try await passes(TimeLimits.seconds(50), on: stepped, without: delegate)
        #expect(delegate.calls.events == [.created(1), .created(2)])
        held.fire()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(calls.of(2) == [.created(2), .response(2, 200), .data(2, "x"), .metrics(2), .completed(2, nil)])
    }

    // C-7: an explicit value of the request wins in both directions
    @Test(
        "request or configuration",
        arguments: [(nil, 10, 10), (10, 30, 10), (30, 10, 30)] as [(Double?, Double, Int64)])
    func requestOrConfiguration(own: Double?, configured: Double, seconds: Int64) async throws {
        let server = try silentServer(after: "")
        defer { server.stop() }
        let stepped = try SteppedLoop()
        let delegate = RecordingDelegate()
        let session = session(delegate, on: stepped) { $0.timeoutIntervalForRequest = configured }
        var request = URLRequest(url: server.url())
        if let own { request.timeoutInterval = own }
        session.dataTask(with: request).resume()
        session.finishTasksAndInvalidate()
        try await server.waitForRequests(1)
        try await passes(TimeLimits.seconds(seconds), on: stepped, without: delegate)
        #expect(delegate.calls.events == [.created(1), .metrics(1), .completed(1, .timedOut), .invalid])
    }

    // T-1, T-2, T-4, CONN-16: neither clock runs while the task is suspended
    @Test("a suspended task does not time out", arguments: [true, false]) func aSuspendedTaskDoesNotTimeOut(
        resource: Bool
    ) async throws {
        let held = Signal("the response")
        let server = try ScriptedServer.answering(CannedResponse.text("x").held(until: held))
        defer { server.stop() }
        let stepped = try SteppedLoop()
        let delegate = RecordingDelegate()
        let session = session(delegate, on: stepped) {
            if resource { $0.timeoutIntervalForResource = 50 } else { $0.timeoutIntervalForRequest = 50 }
        }
        let task = session.dataTask(with: server.url())
        task.resume()
        try await server.waitForRequests(1)
        task.suspend()
        try await stepped.step(by: TimeLimits.seconds(1000))
        #expect(task.state == .suspended)
        held.fire()
        task.resume()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(calls.dropLast().last == .completed(1, nil))
    }

    // T-2, CONN-16: after going on they run again, that of the whole task with what was left of it
    @Test("a resumed task times out", arguments: [true, false]) func aResumedTaskTimesOut(resource: Bool) async throws {
        let server = try silentServer(after: "")
        defer { server.stop() }
        let stepped = try SteppedLoop()
        let delegate = RecordingDelegate()
        let session = session(delegate, on: stepped) {
            if resource { $0.timeoutIntervalForResource = 50 } else { $0.timeoutIntervalForRequest = 50 }
        }
        let task = session.dataTask(with: server.url())
        task.resume()
        try await server.waitForRequests(1)
        try await stepped.step(by: TimeLimits.seconds(20))
        task.suspend()
        try await stepped.step(by: TimeLimits.seconds(1000))
        task.resume()
        session.finishTasksAndInvalidate()
        try await passes(TimeLimits.seconds(resource ? 30 : 50), on: stepped, without: delegate)
        #expect(delegate.calls.events == [.created(1), .metrics(1), .completed(1, .timedOut), .invalid])
    }

    // C-6, T-43: a delegate that blocks the flow does not cause a timeout
    @Test("a slow delegate does not cause a timeout") func aSlowDelegateDoesNotCauseATimeout() async throws {
        let server = try ScriptedServer.answering(.text("hello"))
        defer { server.stop() }
        let stepped = try SteppedLoop()
        let delegate = RecordingDelegate()
        let handlers = Watched<[@Sendable (URLSession.ResponseDisposition) -> Void]>([])
        delegate.answer = { _, handler in handlers.withValue { $0.append(handler) } }
        let session = session(delegate, on: stepped)
        session.dataTask(with: server.url()).resume()
        session.finishTasksAndInvalidate()
        let handler = try await handlers.wait(for: "a response") { $0.first }
        handlers.withValue { $0 = [] }
        try await passes(TimeLimits.seconds(1000), on: stepped, without: delegate)
        handler(.allow)
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .response(1, 200), .data(1, "hello"), .metrics(1), .completed(1, nil), .invalid,
            ])
    }
}
