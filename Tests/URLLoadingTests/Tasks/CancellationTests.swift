import Foundation
import TestSupport
import Testing
import URLLoading

/// Cancellation in all states of a task.
@Suite(.leavesNothing) struct CancellationTests {
    // T-5, T-6, T-7
    @Test("before resume") func beforeResume() async throws {
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        let task = session.dataTask(with: try #require(URL(string: "http://127.0.0.1:1/")))
        task.cancel()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [.created(1), .metrics(1), .completed(1, .cancelled), .invalid])
    }

    // T-6: without retaining it
    @Test("before resume, by the last holder") func beforeResumeByTheLastHolder() async throws {
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        session.dataTask(with: try #require(URL(string: "http://127.0.0.1:1/"))).cancel()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [.created(1), .metrics(1), .completed(1, .cancelled), .invalid])
    }

    // T-5, S-42, MET-16
    @Test("right after resume") func rightAfterResume() async throws {
        let never = Signal("what never comes")
        let server = try ScriptedServer.answering(CannedResponse.text("x").held(until: never))
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        let task = session.dataTask(with: server.url())
        task.resume()
        task.cancel()
        #expect([.canceling, .completed].contains(task.state))
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(calls == [.created(1), .metrics(1), .completed(1, .cancelled), .invalid])
        let error = try #require(task.error as NSError?)
        #expect(error.domain == NSURLErrorDomain)
        #expect(error.code == -999)
    }

    // T-5, T-7, T-46
    @Test("a completion handler is called once") func aCompletionHandlerIsCalledOnce() async throws {
        let server = try ScriptedServer.answering(.endless)
        defer { server.stop() }
        let calls = EventRecorder<Call>()
        let session = URLSession { _ in }
        let task = session.dataTask(with: server.url(), completionHandler: calls.handler)
        task.resume()
        try await server.waitForRequests(1)
        task.cancel()
        task.cancel()
        // The head of the response may have arrived.
        let handled: [[Call]] = [[.handled(nil, nil, .cancelled)], [.handled(nil, 200, .cancelled)]]
        #expect(handled.contains(try await calls.waitFor(count: 1)))
        task.cancel()
        session.finishTasksAndInvalidate()
        try await server.connection(0).waitForEnd()
        #expect(handled.contains(calls.events))
    }

    // T-5, T-7, T-8: from within each call
    @Test(
        "from within",
        arguments: [
            Call.created(1), .sent(1, 3, 3), .informational(1, 103), .response(1, 200), .data(1, "hello"), .metrics(1),
            .completed(1, nil),
        ])
    func fromWithin(moment: Call) async throws {
        let server = try ScriptedServer(steps: [
            .expectRequest, .send("HTTP/1.1 103 Early Hints\r\n\r\n"),
            .send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"), .waitForClose,
        ])
        let whole = try ScriptedServer(steps: [
            .expectRequest, .send("HTTP/1.1 103 Early Hints\r\n\r\n"),
            .send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), .waitForClose,
        ])
        defer {
            server.stop()
            whole.stop()
        }
        let isAtTheEnd = moment == .metrics(1) || moment == .completed(1, nil)
        let delegate = RecordingDelegate()
        delegate.during = { call, _, task in
            if call == moment {
                task?.cancel()
                task?.cancel()
            }
        }
        let session = URLSession(delegate)
        var request = URLRequest(url: (isAtTheEnd ? whole : server).url())
        request.httpMethod = "POST"
        request.httpBody = Data("abc".utf8)
        let task = session.dataTask(with: request)
        task.resume()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()

        let order: [Call] = [
            .created(1), .sent(1, 3, 3), .informational(1, 103), .response(1, 200), .data(1, "hello"),
        ]
        if isAtTheEnd {
            #expect(calls == order + [.metrics(1), .completed(1, nil), .invalid])
            #expect(task.error == nil)
        } else if moment == .created(1) {
            #expect(calls == [.created(1), .metrics(1), .completed(1, .cancelled), .invalid])
        } else {
            // Some calls that were under way may still come (T-5), in their order; the end is one, and last.
            let reached = try #require(order.firstIndex(of: moment))
            let before = calls.dropLast(3)
            #expect(before.count > reached)
            #expect(Array(before) == Array(order.prefix(before.count)))
            #expect(calls.suffix(3) == [.metrics(1), .completed(1, .cancelled), .invalid])
        }
        #expect(delegate.faults.events == [])
    }

    // T-7
    @Test("after completion it does nothing") func afterCompletionItDoesNothing() async throws {
        let server = try ScriptedServer.answering(.text("x"))
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        let task = session.dataTask(with: server.url())
        task.resume()
        _ = try await delegate.calls(untilCompletions: 1)
        task.cancel()
        #expect(task.state == .completed)
        #expect(task.error == nil)
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .response(1, 200), .data(1, "x"), .metrics(1), .completed(1, nil), .invalid,
            ])
    }

    // T-5: a suspended task can be cancelled
    @Test("while suspended") func whileSuspended() async throws {
        let server = try ScriptedServer.answering(.endless)
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        let task = session.dataTask(with: server.url())
        task.resume()
        try await delegate.calls.wait(for: .response(1, 200))
        task.suspend()
        task.cancel()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(calls.prefix(2) == [.created(1), .response(1, 200)])
        #expect(calls.suffix(3) == [.metrics(1), .completed(1, .cancelled), .invalid])
        try await server.connection(0).waitForEnd()
    }

    // T-5, CONN-1: in the line for a connection
    @Test("while it waits for a connection") func whileItWaitsForAConnection() async throws {
        let held = Signal("the first response")
        let server = try ScriptedServer.answering(CannedResponse.text("x").held(until: held))
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate) { $0.httpMaximumConnectionsPerHost = 1 }
        let first = session.dataTask(with: server.url("/first"))
        first.resume()
        try await server.waitForRequests(1)
        let second = session.dataTask(with: server.url("/second"))
        second.resume()
        second.cancel()
        #expect(
            try await delegate.calls(untilCompletions: 1) == [
                .created(1), .created(2), .metrics(2), .completed(2, .cancelled),
            ])
        held.fire()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(calls.of(1).last == .completed(1, nil))
        #expect(server.requests.map(\.path) == ["/first"])
    }
}
