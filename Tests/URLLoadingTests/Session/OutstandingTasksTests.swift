import Foundation
import TestSupport
import Testing
import URLLoading

/// Which tasks a session lists (T-60, S-87).
@Suite(.leavesNothing) struct OutstandingTasksTests {
    // T-60
    @Test("all that were made and have not ended") func allThatWereMadeAndHaveNotEnded() async throws {
        let held = Signal("the response")
        let server = try ScriptedServer.answering { request in
            request.path == "/held" ? CannedResponse.text("x").held(until: held) : .text("x")
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        let ended = session.dataTask(with: server.url())
        ended.resume()
        _ = try await delegate.calls(untilCompletions: 1)
        let running = session.dataTask(with: server.url("/held"))
        running.resume()
        let suspended = session.dataTask(with: server.url("/held"))
        suspended.resume()
        suspended.suspend()
        let new = session.dataTask(with: server.url("/held"))
        let handled = session.dataTask(with: server.url("/held")) { _, _, _ in }
        let forgotten = session.dataTask(with: server.url("/forgotten")).taskIdentifier
        let tasks = await session.allTasks
        #expect(tasks.dropLast() == [running, suspended, new, handled])
        #expect(tasks.last?.taskIdentifier == forgotten)
        let (data, uploads, downloads) = await session.tasks
        #expect(data == tasks)
        #expect(uploads.isEmpty)
        #expect(downloads.isEmpty)
        held.fire()
        session.invalidateAndCancel()
        _ = try await delegate.callsUntilInvalid()
        #expect(await session.allTasks == [])
    }

    // T-60, T-6: as in swift-corelibs-foundation
    @Test("a task that is cancelled before it began is not listed") func aTaskThatIsCancelledBeforeItBegan()
        async throws
    {
        let delegate = RecordingDelegate()
        let queue = OperationQueue(name: "calls", width: 1)
        let session = URLSession(delegate, queue: queue)
        let url = try #require(URL(string: "http://127.0.0.1:1/"))
        let tasks = [
            session.dataTask(with: url), session.dataTask(with: url), session.downloadTask(with: url),
            session.uploadTask(withStreamedRequest: URLRequest(url: url)),
        ]
        let listed = EventRecorder<[Int]>()
        queue.isSuspended = true
        // On the queue before the end of any task.
        session.getAllTasks { listed.record($0.map(\.taskIdentifier)) }
        session.getTasksWithCompletionHandler { data, uploads, downloads in
            listed.record((data + uploads + downloads).map(\.taskIdentifier))
        }
        tasks[1].resume()
        for task in tasks.dropFirst() { task.cancel() }
        queue.isSuspended = false
        // The second has begun, and its end has not been reported.
        #expect(try await listed.waitFor(count: 2) == [[1, 2], [1, 2]])
        session.invalidateAndCancel()
        _ = try await delegate.callsUntilInvalid()
    }

    // T-60, S-83: as in swift-corelibs-foundation
    @Test("no task is listed after the session has cancelled all") func noTaskAfterTheSessionHasCancelledAll()
        async throws
    {
        let held = Signal("the response")
        let server = try ScriptedServer.answering(CannedResponse.text("x").held(until: held))
        defer { server.stop() }
        defer { held.fire() }
        let delegate = RecordingDelegate()
        let queue = OperationQueue(name: "calls", width: 1)
        let session = URLSession(delegate, queue: queue)
        let (running, new) = (session.dataTask(with: server.url()), session.dataTask(with: server.url()))
        running.resume()
        let listed = EventRecorder<[Int]>()
        // Before the end of any task.
        queue.isSuspended = true
        session.getAllTasks { listed.record($0.map(\.taskIdentifier)) }
        session.invalidateAndCancel()
        new.resume()
        session.getAllTasks { listed.record($0.map(\.taskIdentifier)) }
        session.getTasksWithCompletionHandler { data, uploads, downloads in
            listed.record((data + uploads + downloads).map(\.taskIdentifier))
        }
        queue.isSuspended = false
        #expect(try await listed.waitFor(count: 3) == [[], [], []])
        _ = try await delegate.callsUntilInvalid()
    }

    // T-60: the session holds what it has made
    @Test("a task that only the session holds is resumed") func aTaskThatOnlyTheSessionHolds() async throws {
        let server = try ScriptedServer.answering(.text("x"))
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        weak var task: URLSessionTask?
        task = session.dataTask(with: server.url())
        task?.resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .response(1, 200), .data(1, "x"), .metrics(1), .completed(1, nil), .invalid,
            ])
        #expect(task == nil)
    }

    // T-60, S-82: with a task that was never resumed
    @Test("an invalidated session without other references is released") func aSessionThatOnlyItsTaskKnows()
        async throws
    {
        let delegate = RecordingDelegate()
        weak var session: URLSession?
        do {
            let made = URLSession(delegate)
            session = made
            _ = made.dataTask(with: try #require(URL(string: "http://127.0.0.1:1/")))
        }
        try #require(session != nil)
        #expect(await session?.allTasks.map(\.taskIdentifier) == [1])
        session?.invalidateAndCancel()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .metrics(1), .completed(1, .cancelled), .invalid,
            ])
        let end = ContinuousClock.now + .testDeadline
        while session != nil, ContinuousClock.now < end { await Task.yield() }
        #expect(session == nil)
    }

    // T-60, S-82: without an invalidation, until the task has ended
    @Test("a session without other references is retained for its suspended task") func aSessionWithASuspendedTask()
        async throws
    {
        let isSuspended = Signal("the suspended task")
        let server = try ScriptedServer { connection in
            _ = try connection.nextRequest()
            try connection.wait(for: isSuspended)
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx")
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        weak var session: URLSession?
        do {
            let made = URLSession(delegate)
            session = made
            let task = made.dataTask(with: server.url())
            task.resume()
            task.suspend()
            isSuspended.fire()
        }
        do {
            let tasks = try #require(await session?.allTasks)
            #expect(tasks.map(\.taskIdentifier) == [1])
            #expect(tasks.first?.state == .suspended)
            tasks.first?.resume()
        }
        #expect(
            try await delegate.calls(untilCompletions: 1) == [
                .created(1), .response(1, 200), .data(1, "x"), .metrics(1), .completed(1, nil),
            ])
        let end = ContinuousClock.now + .testDeadline
        while session != nil, ContinuousClock.now < end { await Task.yield() }
        #expect(session == nil)
    }

    // T-11: identifiers are of one session
    @Test("identifiers start at one in each session") func identifiersStartAtOneInEachSession() throws {
        let url = try #require(URL(string: "http://127.0.0.1:1/"))
        let sessions = (0..<2).map { _ in URLSession { _ in } }
        #expect(sessions.map { $0.dataTask(with: url).taskIdentifier } == [1, 1])
        #expect(sessions.map { $0.dataTask(with: url).taskIdentifier } == [2, 2])
        for session in sessions { session.invalidateAndCancel() }
    }

    // S-28
    @Test("a label") func aLabel() {
        let session = URLSession { _ in }
        defer { session.invalidateAndCancel() }
        #expect(session.sessionDescription == nil)
        session.sessionDescription = "label"
        #expect(session.sessionDescription == "label")
    }
}
