import Foundation
import TestSupport
import Testing
import URLLoading

/// The queues of callbacks.
@Suite(.leavesNothing) struct DelegateQueueTests {
    /// Serial, concurrent, and the session's own queue, accessed or not.
    enum Kind: CaseIterable, Sendable {
        case none
        case shown
        case serial
        case concurrent
    }

    private func makeSession(_ kind: Kind, _ delegate: RecordingDelegate) -> URLSession {
        switch kind {
        case .none:
            return URLSession(delegate)
        case .shown:
            let session = URLSession(delegate)
            delegate.queue = session.delegateQueue
            return session
        case .serial, .concurrent:
            let queue = OperationQueue(name: "delegate", width: kind == .serial ? 1 : 3)
            delegate.queue = queue
            return URLSession(delegate, queue: queue)
        }
    }

    // S-74 to S-78, S-102, T-64
    @Test("the calls of a task are in order on any queue", arguments: Kind.allCases)
    func theCallsOfATaskAreInOrderOnAnyQueue(kind: Kind) async throws {
        let bytes = [UInt8](repeating: 120, count: 300_000)
        let server = try ScriptedServer.answering(.init(body: .chunks(Array(repeating: bytes, count: 4), trailers: [])))
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = makeSession(kind, delegate)
        let text = String(decoding: Array(repeating: bytes, count: 4).joined(), as: UTF8.self)
        for _ in 0..<8 { session.dataTask(with: server.url()).resume() }
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        for task in 1...8 {
            let own = calls.of(task).joined
            #expect(
                own == [
                    .created(task), .response(task, 200), .data(task, text), .metrics(task), .completed(task, nil),
                ])
        }
        #expect(calls.last == .invalid)
        #expect(delegate.faults.events == [])
        #expect(delegate.mostAtOnce <= (kind == .concurrent ? 3 : 1))
    }

    // S-75
    @Test("the session's own queue is serial") func theSessionsOwnQueueIsSerial() {
        let session = URLSession { _ in }
        defer { session.invalidateAndCancel() }
        #expect(session.delegateQueue.maxConcurrentOperationCount == 1)
        #expect(session.delegateQueue === session.delegateQueue)
        let queue = OperationQueue(name: "delegate", width: 3)
        let other = URLSession(configuration: .ephemeral, delegate: nil, delegateQueue: queue)
        defer { other.invalidateAndCancel() }
        #expect(other.delegateQueue === queue)
    }

    // S-76: tasks at the same time on a concurrent queue
    @Test("calls of different tasks overlap on a concurrent queue")
    func callsOfDifferentTasksOverlapOnAConcurrentQueue() async throws {
        let server = try ScriptedServer.answering(.text("x"))
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let inside = Watched(0)
        delegate.during = { call, _, _ in
            guard case .response = call else { return }
            inside.withValue { $0 += 1 }
            // Each waits until all three are here.
            _ = try? inside.wait(for: "three calls") { $0 == 3 ? () : nil }
        }
        let session = makeSession(.concurrent, delegate)
        for _ in 0..<3 { session.dataTask(with: server.url()).resume() }
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        #expect(delegate.mostAtOnce == 3)
        #expect(delegate.faults.events == [])
    }

    // S-77
    @Test("a slow call delays every other on a serial queue", arguments: [Kind.none, .shown, .serial])
    func aSlowCallDelaysEveryOtherOnASerialQueue(kind: Kind) async throws {
        let asked = Signal("the second request")
        let server = try ScriptedServer.answering { request in
            if request.path == "/second" { asked.fire() }
            return .text("x")
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let goOn = Signal("going on")
        let blocked = Signal("the first response")
        delegate.during = { call, _, _ in
            guard call == .response(1, 200) else { return }
            blocked.fire()
            try? goOn.wait()
        }
        let session = makeSession(kind, delegate)
        session.dataTask(with: server.url("/first")).resume()
        try await blocked.wait()
        session.dataTask(with: server.url("/second")).resume()
        // The second request is answered all the same: the network does not wait for calls.
        try await asked.wait()
        #expect(delegate.calls.events == [.created(1), .response(1, 200), .created(2)])
        goOn.fire()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(calls.of(2).dropFirst().first == .response(2, 200))
        #expect(delegate.mostAtOnce == 1)
        #expect(delegate.faults.events == [])
    }

    // S-74, S-79: one session's calls never hold up another's, however many loops there are
    @Test("calls that block do not stall other sessions") func callsThatBlockDoNotStallOtherSessions() async throws {
        let server = try ScriptedServer.answering(.text("x"))
        defer { server.stop() }
        let goOn = Signal("going on")
        let blocked = (0..<20).map { _ in RecordingDelegate() }
        var sessions: [URLSession] = []
        for delegate in blocked {
            delegate.during = { call, _, _ in if case .response = call { try? goOn.wait() } }
            let session = URLSession(delegate)
            session.dataTask(with: server.url()).resume()
            sessions.append(session)
        }
        for delegate in blocked { try await delegate.calls.wait(for: .response(1, 200)) }
        for _ in 0..<20 {
            let session = URLSession { _ in }
            #expect(try await session.data(from: server.url()).0 == Data("x".utf8))
            session.invalidateAndCancel()
        }
        goOn.fire()
        for (session, delegate) in zip(sessions, blocked) {
            session.finishTasksAndInvalidate()
            #expect(
                try await delegate.callsUntilInvalid() == [
                    .created(1), .response(1, 200), .data(1, "x"), .metrics(1), .completed(1, nil), .invalid,
                ])
            #expect(delegate.faults.events == [])
        }
    }

    // S-79: what a call waits for may be a load itself, by handler or async
    @Test("a call may wait for another session's task") func aCallMayWaitForAnotherSessionsTask() async throws {
        let server = try ScriptedServer.answering { .text($0.path) }
        defer { server.stop() }
        let other = URLSession { _ in }
        let inner = EventRecorder<Call>()
        let delegate = RecordingDelegate()
        delegate.during = { call, _, task in
            guard case .response = call, let path = task?.originalRequest?.url?.path else { return }
            let done = DispatchSemaphore(value: 0)
            other.dataTask(with: server.url("/inner" + path)) { data, response, error in
                inner.handler(data, response, error)
                done.signal()
            }.resume()
            _ = done.wait(timeout: .now() + 10)
        }
        let session = URLSession(delegate)
        for index in 0..<10 { session.dataTask(with: server.url("/\(index)")).resume() }
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        for task in 1...10 { #expect(calls.of(task).last == .completed(task, nil)) }
        #expect(Set(inner.events) == Set((0..<10).map { .handled("/inner/\($0)", 200, nil) }))
        #expect(inner.count == 10)
        other.invalidateAndCancel()
    }

    // S-75: asked for in the middle of a call
    @Test("a queue that is asked for within a call takes over without overlap")
    func aQueueThatIsAskedForWithinACallTakesOverWithoutOverlap() async throws {
        let server = try ScriptedServer.answering(.text("x"))
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let queue = Watched<OperationQueue?>(nil)
        let overlaps = EventRecorder<String>()
        let isInside = Watched(false)
        delegate.during = { call, session, _ in
            guard case .response(let task, _) = call else { return }
            isInside.withValue { $0 = true }
            if task == 1 {
                queue.withValue { $0 = session.delegateQueue }
                session.delegateQueue.addOperation {
                    overlaps.record(isInside.current ? "beside a call" : "after the call")
                }
                // Long enough for an operation to start that must not.
                let pause = Signal("a pause")
                _ = try? pause.wait(within: .milliseconds(50))
            }
            isInside.withValue { $0 = false }
        }
        let session = URLSession(delegate)
        session.dataTask(with: server.url()).resume()
        _ = try await delegate.calls(untilCompletions: 1)
        try await overlaps.waitFor(count: 1)
        #expect(overlaps.events == ["after the call"])
        delegate.queue = queue.current
        session.dataTask(with: server.url()).resume()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(calls.of(2).last == .completed(2, nil))
        #expect(delegate.faults.events == [])
    }

    // S-75: asked for while other calls are due on the loop's thread
    @Test("a queue that is asked for within a call gets the calls that are due after it")
    func dueCallsMoveToQueue() async throws {
        let server = try ScriptedServer.answering(.text("x"))
        defer { server.stop() }
        let events = EventRecorder<String>()
        let session = URLSession { _ in }
        let tasks = ["first", "second", "third"].map { name in
            session.dataTask(with: server.url()) { _, _, _ in
                events.record(name)
                if name == "first" { session.delegateQueue.addOperation { events.record("operation") } }
            }
        }
        // All ends are due at once, because the loop does not run during the call.
        session.dataTask(with: server.url()) { _, _, _ in
            for task in tasks {
                task.resume()
                task.cancel()
            }
        }.resume()
        try await events.waitFor(count: 4)
        #expect(events.events == ["first", "operation", "second", "third"])
        session.finishTasksAndInvalidate()
    }

    // S-75, T-65: suspended in the middle of a call
    @Test("a queue that is suspended within a call stays suspended")
    func aQueueThatIsSuspendedWithinACallStaysSuspended() async throws {
        let server = try ScriptedServer.answering(.text("x"))
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let suspended = Signal("the suspension")
        delegate.during = { call, session, _ in
            guard case .response = call else { return }
            session.delegateQueue.isSuspended = true
            suspended.fire()
        }
        let session = URLSession(delegate)
        session.dataTask(with: server.url()).resume()
        try await suspended.wait()
        let other = URLSession { _ in }
        for _ in 0..<20 { _ = try await other.data(from: server.url()) }
        other.invalidateAndCancel()
        #expect(session.delegateQueue.isSuspended)
        #expect(delegate.calls.events == [.created(1), .response(1, 200)])
        session.delegateQueue.isSuspended = false
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .response(1, 200), .data(1, "x"), .metrics(1), .completed(1, nil), .invalid,
            ])
    }

    private final class EmptyDelegate: NSObject, URLSessionTaskDelegate, Sendable {}

    @Test(
        "an async call returns while the queue is suspended, if no delegate has a method for it",
        .timeLimit(.minutes(1)))
    func asyncCallsWithoutCallbacks() async throws {
        let server = try ScriptedServer.answering { _ in .text("abc") }
        defer { server.stop() }
        let delegates: [(EmptyDelegate?, EmptyDelegate?)] = [
            (nil, nil), (EmptyDelegate(), nil), (nil, EmptyDelegate()),
        ]
        for (ofSession, own) in delegates {
            let queue = OperationQueue()
            let session = URLSession(configuration: .ephemeral, delegate: ofSession, delegateQueue: queue)
            defer { session.finishTasksAndInvalidate() }
            let request = URLRequest(url: server.url())
            // Which methods a class has is known after the first calls.
            for _ in 0..<2 { _ = try await session.data(for: request, delegate: own) }
            queue.isSuspended = true
            defer { queue.isSuspended = false }
            #expect(try await session.data(for: request, delegate: own).0.count == 3)
            let (bytes, _) = try await session.bytes(for: request, delegate: own)
            var count = 0
            for try await _ in bytes { count += 1 }
            #expect(count == 3)
        }
    }

    // S-75: the caller's operations get their turn
    @Test("operations of the caller's run between calls") func operationsOfTheCallersRunBetweenCalls() async throws {
        let permits = Permits()
        let server = try ScriptedServer.answering(.paced(Array("abcdef".utf8), portion: 1, by: permits))
        defer { server.stop() }
        let queue = OperationQueue(name: "delegate", width: 1)
        let delegate = RecordingDelegate()
        let own = EventRecorder<Int>()
        delegate.during = { call, _, _ in
            switch call {
            case .response, .data:
                // The next byte is sent only after this operation ran.
                queue.addOperation {
                    own.record(own.count)
                    permits.release()
                }
            default: break
            }
        }
        let session = URLSession(delegate, queue: queue)
        session.dataTask(with: server.url()).resume()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(calls.of(1).contains(.data(1, "abcdef")))
        try await own.waitFor(count: 7)
    }

    // S-71: `cancelAllOperations` affects only the program's operations
    @Test("all operations are cancelled", arguments: [1, 4]) func allOperationsAreCancelled(width: Int) async throws {
        let server = try ScriptedServer.answering(.text("hello"))
        defer { server.stop() }
        let queue = SuspendedQueue(width: width)
        let delegate = RecordingDelegate()
        let session = URLSession(delegate, queue: queue)
        session.dataTask(with: server.url()).resume()
        try await queue.hasOperation.wait()
        queue.cancelAllOperations()
        queue.isSuspended = false
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .response(1, 200), .data(1, "hello"), .metrics(1), .completed(1, nil), .invalid,
            ])
    }
}
