import Foundation
import TestSupport
import Testing
import URLLoading

/// Exactly one completion for each task in spite of races (T-7, law 3).
@Suite(.leavesNothing) struct CompletionRaceTests {
    /// Runs `body` concurrently on many threads, each with its number.
    private func concurrently(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) async {
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<count { group.addTask { body(index) } }
        }
    }

    // T-7, S-79
    @Test("cancel against everything else") func cancelAgainstEverythingElse() async throws {
        let server = try ScriptedServer.answering { request in
            request.path == "/long" ? .chunked(["abc", "def"]) : .text("x")
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        let handled = EventRecorder<Call>()
        let count = 300
        await concurrently(count) { index in
            let url = server.url(index.isMultiple(of: 3) ? "/long" : "/")
            let task =
                index.isMultiple(of: 2)
                ? session.dataTask(with: url) : session.dataTask(with: url, completionHandler: handled.handler)
            // Cancels from another thread, at moments that differ, before the start among them.
            let other = Thread {
                for _ in 0..<((index * 37) % 400) { _ = task.state }
                task.cancel()
            }
            other.start()
            task.resume()
            if index.isMultiple(of: 5) { task.suspend() }
            if index.isMultiple(of: 7) { task.cancel() }
            if index.isMultiple(of: 5) { task.resume() }
        }
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(calls.last == .invalid)
        #expect(calls.completionCount == count / 2)
        #expect(handled.count == count / 2)
        for task in 1...count {
            let own = calls.of(task)
            #expect(own.completionCount <= 1)
            #expect(own.completionCount == 0 || own.last?.isCompletion == true)
        }
        #expect(delegate.faults.events == [])
    }

    // T-6, T-62
    @Test("invalidation against resume, cancel and the end") func invalidationAgainstResumeCancelAndTheEnd()
        async throws
    {
        let server = try ScriptedServer.answering(.text("x"))
        defer { server.stop() }
        for round in 0..<100 {
            let delegate = RecordingDelegate()
            let session = URLSession(delegate)
            let tasks = (0..<4).map { _ in session.dataTask(with: server.url()) }
            await withTaskGroup(of: Void.self) { group in
                for (index, task) in tasks.enumerated() {
                    group.addTask {
                        if (index + round).isMultiple(of: 4) { task.cancel() }
                        task.resume()
                    }
                }
                group.addTask {
                    if round.isMultiple(of: 2) { session.finishTasksAndInvalidate() }
                    session.invalidateAndCancel()
                }
            }
            let calls = try await delegate.callsUntilInvalid()
            #expect(calls.last == .invalid)
            #expect(calls.completionCount == 4)
        }
    }

    // T-7, T-9: two threads go through the same tasks, side by side
    @Test("resume against cancel") func resumeAgainstCancel() async throws {
        let server = try ScriptedServer.answering(.text("x"))
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        let tasks = (0..<3000).map { _ in session.dataTask(with: server.url()) }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for task in tasks { task.resume() } }
            group.addTask { for task in tasks { task.cancel() } }
        }
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(calls.last == .invalid)
        #expect(calls.completionCount == tasks.count)
        #expect(delegate.faults.events == [])
    }

    // T-7, T-9
    @Test("cancel against the end") func cancelAgainstTheEnd() async throws {
        let server = try ScriptedServer.answering(.text("x"))
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        let tasks = (0..<1000).map { _ in session.dataTask(with: server.url()) }
        let ended = Watched(0)
        delegate.during = { call, _, _ in if call.isCompletion { ended.withValue { $0 += 1 } } }
        for task in tasks { task.resume() }
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for task in tasks {
                    // As soon as the one before it has ended.
                    while ended.current < task.taskIdentifier - 1 {}
                    task.cancel()
                }
            }
        }
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(calls.last == .invalid)
        #expect(calls.completionCount == tasks.count)
        #expect(delegate.faults.events == [])
    }

    // T-7: the server's end against the client's
    @Test("cancel against a reset") func cancelAgainstAReset() async throws {
        let server = try ScriptedServer { connection in
            _ = try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
            connection.reset()
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        delegate.during = { call, _, task in if case .data = call { task?.cancel() } }
        let session = URLSession(delegate)
        let count = 100
        for _ in 0..<count { session.dataTask(with: server.url()).resume() }
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        for task in 1...count { #expect(calls.of(task).completionCount == 1) }
        #expect(calls.last == .invalid)
        #expect(delegate.faults.events == [])
    }

    // T-67, T-7: an answer against a cancel
    @Test("a disposition against cancel") func aDispositionAgainstCancel() async throws {
        let server = try ScriptedServer.answering(.text("hello"))
        defer { server.stop() }
        let delegate = RecordingDelegate()
        delegate.answer = { task, handler in
            Thread { handler(task.taskIdentifier.isMultiple(of: 3) ? .cancel : .allow) }.start()
            Thread { if task.taskIdentifier.isMultiple(of: 2) { task.cancel() } }.start()
        }
        let session = URLSession(delegate)
        let count = 200
        for _ in 0..<count { session.dataTask(with: server.url()).resume() }
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        for task in 1...count { #expect(calls.of(task).completionCount == 1) }
        #expect(calls.last == .invalid)
        #expect(delegate.faults.events == [])
    }
}
