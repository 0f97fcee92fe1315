import Foundation
import TestSupport
import Testing
import URLLoading

/// Task delegates together with a session delegate.
@Suite(.leavesNothing) struct TaskDelegateTests {
    /// Implements a few methods only.
    private final class Partial: NSObject, URLSessionDataDelegate, @unchecked Sendable {
        let calls = EventRecorder<Call>()

        func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
            calls.record(.data(dataTask.taskIdentifier, String(decoding: data, as: UTF8.self)))
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics)
        {
            calls.record(.metrics(task.taskIdentifier))
        }
    }

    /// Implements the `async` variants of methods.
    private final class AsyncPartial: NSObject, URLSessionDataDelegate, @unchecked Sendable {
        let calls = EventRecorder<Call>()

        func urlSession(
            _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse
        ) async -> URLSession.ResponseDisposition {
            calls.record(.response(dataTask.taskIdentifier, 0))
            return .allow
        }
    }

    /// Conforms to `URLSessionTaskDelegate`, but not to the data delegate.
    private final class TaskOnly: NSObject, URLSessionTaskDelegate, @unchecked Sendable {
        let calls = EventRecorder<Call>()

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            calls.record(.completed(task.taskIdentifier, error?.urlErrorCode))
        }
    }

    // T-24
    @Test("methods that the task's delegate lacks go to the session's, each by itself")
    func methodsThatTheTasksDelegateLacksGoToTheSessionsEachByItself() async throws {
        let server = try ScriptedServer.answering(.text("hello"))
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        let own = Partial()
        for _ in 0..<2 {
            let task = session.dataTask(with: server.url())
            task.delegate = own
            task.resume()
        }
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        for task in 1...2 {
            #expect(calls.of(task) == [.created(task), .response(task, 200), .completed(task, nil)])
            #expect(own.calls.events.of(task) == [.data(task, "hello"), .metrics(task)])
        }
    }

    // T-24
    @Test("both variants of the task delegate's method take precedence")
    func bothVariantsOfTheTaskDelegatesMethodTakePrecedence()
        async throws
    {
        let server = try ScriptedServer.answering(.text("hello"))
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        let own = AsyncPartial()
        let task = session.dataTask(with: server.url())
        task.delegate = own
        task.resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .data(1, "hello"), .metrics(1), .completed(1, nil), .invalid,
            ])
        #expect(own.calls.events == [.response(1, 0)])
    }

    // T-24: protocols beyond the task's are found by conformance
    @Test("methods of protocols without conformance are called on the session's delegate")
    func methodsOfProtocolsWithoutConformanceAreCalledOnTheSessionsDelegate() async throws {
        let server = try ScriptedServer.answering(.text("hello"))
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        let own = TaskOnly()
        let task = session.dataTask(with: server.url())
        task.delegate = own
        task.resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .response(1, 200), .data(1, "hello"), .metrics(1), .invalid,
            ])
        #expect(own.calls.events == [.completed(1, nil)])
    }

    // T-23
    @Test("it is held until the end, and cannot be changed after the start")
    func itIsHeldUntilTheEndAndCannotBeChangedAfterTheStart() async throws {
        let held = Signal("the response")
        let server = try ScriptedServer.answering(CannedResponse.text("hello").held(until: held))
        defer { server.stop() }
        let session = URLSession { _ in }
        let task = session.dataTask(with: server.url())
        let end = Signal("completion")
        weak var weakDelegate: RecordingDelegate?
        do {
            let own = RecordingDelegate()
            own.during = { call, _, _ in if call.isCompletion { end.fire() } }
            task.delegate = own
            weakDelegate = own
            #expect(task.delegate === own)
        }
        task.resume()
        task.delegate = RecordingDelegate()
        #expect(weakDelegate != nil)
        #expect(task.delegate === weakDelegate)
        held.fire()
        try await end.wait()
        session.finishTasksAndInvalidate()
        try await server.connection(0).waitForEnd()
        #expect(task.delegate == nil)
        #expect(weakDelegate == nil)
    }

    // T-55
    @Test("an async call's delegate is that task's") func anAsyncCallsDelegateIsThatTasks() async throws {
        let server = try ScriptedServer.answering(.text("hello"))
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        let own = RecordingDelegate()
        let (data, response) = try await session.data(from: server.url(), delegate: own)
        #expect(data == Data("hello".utf8))
        #expect((response as? HTTPURLResponse)?.statusCode == 200)
        // T-46, T-47: the result is the caller's, so neither response nor data nor completion is delivered.
        #expect(own.calls.events == [.created(1), .metrics(1)])
        session.invalidateAndCancel()
        #expect(try await delegate.callsUntilInvalid() == [.invalid])
    }
}
