import Foundation
import TestSupport
import Testing
import URLLoading

/// The states of tasks, suspending and resuming.
@Suite(.leavesNothing) struct TaskStateTests {
    // S-30, T-1, T-8, T-13
    @Test("suspended, running, completed") func suspendedRunningCompleted() async throws {
        let held = Signal("the response")
        let server = try ScriptedServer.answering(CannedResponse.text("x").held(until: held))
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let atCompletion = Watched<[URLSessionTask.State]>([])
        delegate.during = { call, _, task in
            if let task, call.isCompletion { atCompletion.withValue { $0.append(task.state) } }
        }
        let session = URLSession(delegate)
        let task = session.dataTask(with: server.url())
        #expect(task.state == .suspended)
        #expect(task.response == nil)
        #expect(task.error == nil)
        task.resume()
        #expect(task.state == .running)
        held.fire()
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        #expect(task.state == .completed)
        #expect(atCompletion.current == [.completed])
        #expect((task.response as? HTTPURLResponse)?.statusCode == 200)
        #expect(task.error == nil)
        #expect(
            [URLSessionTask.State.running, .suspended, .canceling, .completed].map(\.rawValue) == [0, 1, 2, 3])
    }

    // S-30: nothing happens before resume
    @Test("a task that is not resumed sends nothing") func aTaskThatIsNotResumedSendsNothing() async throws {
        let server = try ScriptedServer.answering(.text("x"))
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        let first = session.dataTask(with: server.url("/first"))
        session.dataTask(with: server.url("/second")).resume()
        _ = try await delegate.calls(untilCompletions: 1)
        #expect(server.requests.map(\.path) == ["/second"])
        #expect(delegate.calls.events.of(1) == [.created(1)])
        #expect(first.state == .suspended)
        session.invalidateAndCancel()
        _ = try await delegate.callsUntilInvalid()
    }

    // T-2, T-3
    @Test("suspensions nest, and resumes beyond them are ignored") func suspensionsNestAndResumesBeyondThemAreIgnored()
        async throws
    {
        let held = Signal("the response")
        let server = try ScriptedServer.answering { request in
            request.path == "/held" ? CannedResponse.text("x").held(until: held) : .text("x")
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        let task = session.dataTask(with: server.url("/held"))
        task.suspend()
        task.suspend()
        task.resume()
        #expect(task.state == .suspended)
        task.resume()
        #expect(task.state == .suspended)
        // One more task through the loop shows that the first one did nothing meanwhile.
        session.dataTask(with: server.url()).resume()
        _ = try await delegate.calls(untilCompletions: 1)
        #expect(server.requests.map(\.path) == ["/"])
        task.resume()
        #expect(task.state == .running)
        task.resume()
        task.resume()
        #expect(task.state == .running)
        held.fire()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(
            calls.of(1) == [.created(1), .response(1, 200), .data(1, "x"), .metrics(1), .completed(1, nil)])
        #expect(server.requests.map(\.path) == ["/", "/held"])
    }

    // T-3: a resume too many does not count against a later suspend
    @Test("extra resumes are not saved up") func extraResumesAreNotSavedUp() async throws {
        let held = Signal("the response")
        let server = try ScriptedServer.answering(CannedResponse.text("x").held(until: held))
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        let task = session.dataTask(with: server.url())
        task.resume()
        task.resume()
        task.resume()
        task.suspend()
        #expect(task.state == .suspended)
        task.resume()
        #expect(task.state == .running)
        held.fire()
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
    }

    // T-2, CONN-22
    @Test("a suspended task takes nothing from the socket") func aSuspendedTaskTakesNothingFromTheSocket() async throws
    {
        let server = try ScriptedServer.answering(.bytes(.init(repeating: 0, count: 30_000_000)))
        defer { server.stop() }
        let delegate = CountingDelegate()
        let begun = Signal("the first bytes")
        delegate.during = { _, task in
            guard !begun.isFired else { return }
            task.suspend()
            begun.fire()
        }
        let session = URLSession(delegate)
        let task = session.dataTask(with: server.url())
        task.resume()
        session.finishTasksAndInvalidate()
        try await begun.wait()
        let accepted = try await server.connection(0).waitUntilBlocked()
        #expect(accepted < 12_000_000)
        #expect(task.state == .suspended)
        let received = delegate.received.current
        #expect(received < 12_000_000)
        task.resume()
        try await delegate.ended.wait()
        #expect(delegate.received.current == 30_000_000)
        #expect(delegate.error.current == nil)
    }

    // T-2: nothing is sent either
    @Test("a suspended task sends nothing more of its body") func aSuspendedTaskSendsNothingMoreOfItsBody() async throws
    {
        let goOn = Signal("going on")
        var options = ScriptedServer.Options()
        options.receiveBufferSize = 65_536
        let server = try ScriptedServer(options) { connection in
            let head = try connection.readRequestHead()
            try connection.wait(for: goOn)
            _ = try connection.readBody(of: head)
            try connection.send(.text("x"), to: head)
            try connection.waitForClose()
        }
        defer { server.stop() }
        let other = try ScriptedServer.answering(.text("other"))
        defer { other.stop() }
        let delegate = RecordingDelegate()
        let suspended = Signal("the suspension")
        delegate.during = { call, _, task in
            guard case .sent = call, !suspended.isFired else { return }
            task?.suspend()
            suspended.fire()
        }
        let session = URLSession(delegate)
        var request = URLRequest(url: server.url())
        request.httpMethod = "POST"
        request.httpBody = Data(count: 12_000_000)
        let task = session.dataTask(with: request)
        task.resume()
        try await suspended.wait()
        // The server reads all that the kernels hold; more does not come. A second task passes meanwhile.
        goOn.fire()
        let before = task.countOfBytesSent
        #expect(before < 9_000_000)
        #expect(try await session.data(from: other.url()).0 == Data("other".utf8))
        #expect(task.countOfBytesSent == before)
        task.resume()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(calls.contains(.sent(1, 12_000_000, 12_000_000)))
        #expect(calls.suffix(3) == [.metrics(1), .completed(1, nil), .invalid])
        #expect(server.requests.first?.body.count == 12_000_000)
    }

    // T-2, T-3
    @Test("a task that is suspended in the line for a connection lets others pass")
    func aTaskThatIsSuspendedInTheLineForAConnectionLetsOthersPass() async throws {
        let held = Signal("the first response")
        let server = try ScriptedServer.answering { request in
            request.path == "/first" ? CannedResponse.text("1").held(until: held) : .text("x")
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate) { $0.httpMaximumConnectionsPerHost = 1 }
        let tasks = ["/first", "/second", "/third"].map { session.dataTask(with: server.url($0)) }
        tasks[0].resume()
        try await server.waitForRequests(1)
        tasks[1].resume()
        tasks[2].resume()
        tasks[1].suspend()
        held.fire()
        _ = try await delegate.calls(untilCompletions: 2)
        #expect(server.requests.map(\.path) == ["/first", "/third"])
        tasks[1].resume()
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        #expect(server.requests.map(\.path) == ["/first", "/third", "/second"])
        #expect(server.connectionCount == 1)
    }

    // T-7, T-5
    @Test("after cancel neither resume nor suspend has an effect") func afterCancelNeitherResumeNorSuspendHasAnEffect()
        async throws
    {
        let server = try ScriptedServer.answering(.text("x"))
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        let task = session.dataTask(with: server.url())
        task.cancel()
        task.resume()
        task.suspend()
        task.resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [.created(1), .metrics(1), .completed(1, .cancelled), .invalid])
        #expect(task.state == .completed)
        #expect(task.error?.urlErrorCode == .cancelled)
        #expect(server.connectionCount == 0)
    }

    // T-9, T-60
    @Test("a task needs no holder, until its session is invalidated before it was resumed")
    func aTaskNeedsNoHolder() async throws {
        let held = Signal("the response")
        let server = try ScriptedServer.answering(CannedResponse.text("x").held(until: held))
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        weak var running: URLSessionTask?
        weak var forgotten: URLSessionTask?
        do {
            let task = session.dataTask(with: server.url())
            task.resume()
            running = task
            forgotten = session.dataTask(with: server.url())
        }
        #expect(running != nil)
        #expect(forgotten != nil)
        session.finishTasksAndInvalidate()
        try await delegate.calls.wait(for: .completed(2, .cancelled))
        held.fire()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .created(2), .metrics(2), .completed(2, .cancelled), .response(1, 200), .data(1, "x"),
                .metrics(1), .completed(1, nil), .invalid,
            ])
        #expect(running == nil)
    }

    // T-9: what a handler holds is let go after it was called
    @Test("a handler that retains its own task is released after its call")
    func aHandlerThatRetainsItsOwnTaskIsReleasedAfterItsCall()
        async throws
    {
        let server = try ScriptedServer.answering(.text("x"))
        defer { server.stop() }
        final class Holder: @unchecked Sendable { var task: URLSessionTask? }
        let session = URLSession { _ in }
        let done = Signal("the handler")
        weak var weakTask: URLSessionTask?
        weak var weakHolder: Holder?
        do {
            let holder = Holder()
            let task = session.dataTask(with: server.url()) { _, _, _ in
                _ = holder.task
                done.fire()
            }
            holder.task = task
            weakTask = task
            weakHolder = holder
            task.resume()
        }
        try await done.wait()
        session.finishTasksAndInvalidate()
        try await server.connection(0).waitForEnd()
        #expect(weakTask == nil)
        #expect(weakHolder == nil)
    }
}
