import Foundation
import TestSupport
import Testing
import URLLoading

/// The properties of tasks.
@Suite(.leavesNothing) struct TaskPropertiesTests {
    // T-11, T-12, T-13, T-17, T-18, T-19, T-20, T-22, T-25, S-90
    @Test("a new task") func aNewTask() throws {
        let session = URLSession { _ in }
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: "http://127.0.0.1:1/a"))
        let tasks = (1...3).map { _ in session.dataTask(with: url) }
        #expect(tasks.map(\.taskIdentifier) == [1, 2, 3])
        let task = tasks[0]
        #expect(task.originalRequest == URLRequest(url: url))
        #expect(task.currentRequest == URLRequest(url: url))
        #expect(task.response == nil)
        #expect(task.taskDescription == nil)
        #expect(task.priority == URLSessionTask.defaultPriority)
        #expect(URLSessionTask.defaultPriority == 0.5)
        #expect(URLSessionTask.lowPriority > 0 && URLSessionTask.lowPriority < 0.5)
        #expect(URLSessionTask.highPriority > 0.5 && URLSessionTask.highPriority < 1)
        #expect(task.prefersIncrementalDelivery)
        #expect(!session.dataTask(with: url, completionHandler: { _, _, _ in }).prefersIncrementalDelivery)
        #expect(task.earliestBeginDate == nil)
        #expect(NSURLSessionTransferSizeUnknown == -1)
        #expect(
            [task.countOfBytesClientExpectsToSend, task.countOfBytesClientExpectsToReceive] == [-1, -1])
        #expect(
            [
                task.countOfBytesSent, task.countOfBytesReceived, task.countOfBytesExpectedToSend,
                task.countOfBytesExpectedToReceive,
            ] == [0, 0, 0, -1])
        task.taskDescription = "label"
        task.priority = 0.9
        #expect(task.taskDescription == "label")
        #expect(task.priority == 0.9)
    }

    // S-35: as tests of programs have them
    @available(*, deprecated)
    @Test("a task of a program's own has what is set on it") func aTaskOfAProgramsOwn() {
        final class Fake: URLSessionDataTask, @unchecked Sendable {
            override func resume() {}
        }
        let (task, delegate, date) = (Fake(), RecordingDelegate(), Date(timeIntervalSince1970: 1))
        #expect(task.taskDescription == nil && task.priority == 0.5 && task.prefersIncrementalDelivery)
        #expect(task.delegate == nil && task.earliestBeginDate == nil)
        #expect([task.countOfBytesClientExpectsToSend, task.countOfBytesClientExpectsToReceive] == [-1, -1])
        task.taskDescription = "avatar"
        task.priority = 1
        task.prefersIncrementalDelivery = false
        task.delegate = delegate
        task.earliestBeginDate = date
        task.countOfBytesClientExpectsToSend = 3
        task.countOfBytesClientExpectsToReceive = 4
        #expect(task.taskDescription == "avatar" && task.priority == 1 && !task.prefersIncrementalDelivery)
        #expect(task.delegate === delegate && task.earliestBeginDate == date)
        #expect([task.countOfBytesClientExpectsToSend, task.countOfBytesClientExpectsToReceive] == [3, 4])
        #expect(task.progress === task.progress && task.progress.totalUnitCount == -1)
    }

    // S-86
    @Test("copy returns the same object") func copyReturnsTheSameObject() throws {
        let session = URLSession { _ in }
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: try #require(URL(string: "http://127.0.0.1:1/a")))
        #expect(task.copy() as AnyObject === task)
        #expect(session.copy() as AnyObject === session)
    }

    // T-14, T-15, T-16
    @Test("counters of a body in each direction") func countersOfABodyInEachDirection() async throws {
        let server = try ScriptedServer.answering { request in
            request.path == "/chunked" ? .chunked(["hello", " world"]) : .text("hello world")
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        for (path, expected) in [("/", 11), ("/chunked", -1)] as [(String, Int64)] {
            var request = URLRequest(url: server.url(path))
            request.httpMethod = "POST"
            request.httpBody = Data("abc".utf8)
            let task = session.dataTask(with: request)
            #expect(task.countOfBytesExpectedToSend == 3)
            task.resume()
            _ = try await delegate.calls(untilCompletions: task.taskIdentifier)
            #expect(task.countOfBytesSent == 3)
            #expect(task.countOfBytesReceived == 11)
            #expect(task.countOfBytesExpectedToReceive == expected)
        }
        session.invalidateAndCancel()
    }

    // T-15
    @Test("the expected number of bytes to send") func theExpectedNumberOfBytesToSend() throws {
        let session = URLSession { _ in }
        defer { session.invalidateAndCancel() }
        var request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:1/a")))
        request.httpMethod = "POST"
        #expect(session.dataTask(with: request).countOfBytesExpectedToSend == 0)
        request.httpBodyStream = InputStream(data: Data(count: 5))
        #expect(session.dataTask(with: request).countOfBytesExpectedToSend == -1)
        request.setValue("5", forHTTPHeaderField: "Content-Length")
        #expect(session.dataTask(with: request).countOfBytesExpectedToSend == 5)
    }

    // T-14, S-51: framing does not count
    @Test("counters of a body in chunks") func countersOfABodyInChunks() async throws {
        let server = try ScriptedServer.answering { .text($0.bodyText) }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        var request = URLRequest(url: server.url())
        request.httpMethod = "POST"
        request.httpBodyStream = InputStream(data: Data("abcdef".utf8))
        let task = session.dataTask(with: request)
        #expect(task.countOfBytesExpectedToSend == -1)
        task.resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .sent(1, 6, -1), .response(1, 200), .data(1, "abcdef"), .metrics(1), .completed(1, nil),
                .invalid,
            ])
        #expect(task.countOfBytesSent == 6)
        #expect(server.requests.first?["Transfer-Encoding"] == "chunked")
    }

    // S-40, T-14, T-21: while it goes on, with a delegate and with a handler
    @Test("counters and progress follow the bytes", arguments: [true, false]) func countersAndProgressFollowTheBytes(
        hasHandler: Bool
    ) async throws {
        let permits = Permits()
        let server = try ScriptedServer.answering(.paced(.init(repeating: 120, count: 100), portion: 25, by: permits))
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        let task =
            hasHandler
            ? session.dataTask(with: server.url(), completionHandler: delegate.calls.handler)
            : session.dataTask(with: server.url())
        let progress = task.progress
        #expect(progress === task.progress)
        #expect(progress.fractionCompleted == 0)
        task.resume()
        for quarter in 1...3 {
            permits.release()
            // No event reports counters, so this polls them.
            let end = ContinuousClock.now + .testDeadline
            while task.countOfBytesReceived < quarter * 25, ContinuousClock.now < end { await Task.yield() }
            #expect(task.countOfBytesReceived == Int64(quarter * 25))
            while progress.completedUnitCount < quarter * 25, ContinuousClock.now < end { await Task.yield() }
            #expect(progress.completedUnitCount == Int64(quarter * 25))
            #expect(progress.totalUnitCount == 100)
            #expect(progress.fractionCompleted == Double(quarter) / 4)
        }
        permits.release()
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        #expect(progress.fractionCompleted == 1)
        #expect(progress.isFinished)
    }

    // T-21
    @Test("progress that is first asked for in mid-body, and after the end") func lateProgress() async throws {
        let permits = Permits()
        let server = try ScriptedServer.answering(.paced(.init(repeating: 120, count: 100), portion: 25, by: permits))
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        let (task, other) = (session.dataTask(with: server.url()), session.dataTask(with: server.url()))
        task.resume()
        permits.release()
        let end = ContinuousClock.now + .testDeadline
        while task.countOfBytesReceived < 25, ContinuousClock.now < end { await Task.yield() }
        let progress = task.progress
        #expect([progress.completedUnitCount, progress.totalUnitCount] == [25, 100])
        for _ in 0..<3 { permits.release() }
        _ = try await delegate.calls(untilCompletions: 1)
        other.resume()
        for _ in 0..<4 { permits.release() }
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        let late = other.progress
        #expect([late.completedUnitCount, late.totalUnitCount] == [100, 100])
        #expect(late.isFinished)
        #expect(progress.isFinished)
    }

    // T-21: a failure is no finish
    @Test("progress that is first asked for after a failure") func lateProgressOfAFailure() async throws {
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        let task = session.dataTask(with: try #require(URL(string: "http://127.0.0.1:1/")))
        task.cancel()
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        #expect(!task.progress.isFinished)
    }

    // T-21
    @Test("progress counts both directions") func progressCountsBothDirections() async throws {
        let server = try ScriptedServer.answering { .text($0.bodyText) }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        var request = URLRequest(url: server.url())
        request.httpMethod = "POST"
        request.httpBody = Data("abcde".utf8)
        let task = session.dataTask(with: request)
        let progress = task.progress
        task.resume()
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        #expect(progress.totalUnitCount == 10)
        #expect(progress.completedUnitCount == 10)
    }

    // T-21: Foundation's `Progress` has no lock
    @Test("tasks of several sessions share a parent") func sharedParent() async throws {
        let server = try ScriptedServer.answering(.text("hello"))
        defer { server.stop() }
        let sessions = (0..<4).map { _ in URLSession(configuration: .ephemeral) }
        let all = Progress(totalUnitCount: 400)
        let tasks = (0..<400).map { sessions[$0 % 4].dataTask(with: server.url()) }
        for task in tasks { all.addChild(task.progress, withPendingUnitCount: 1) }
        for task in tasks { task.resume() }
        for task in tasks {
            let end = ContinuousClock.now + .testDeadline
            while !task.progress.isFinished, ContinuousClock.now < end { try await Task.sleep(for: .milliseconds(1)) }
        }
        #expect(all.isFinished && all.completedUnitCount == 400)
        for session in sessions { session.finishTasksAndInvalidate() }
    }

    // T-21: nothing came, but all that there was
    @Test("progress of a body of nothing", arguments: ["GET", "HEAD"]) func progressOfABodyOfNothing(
        method: String
    ) async throws {
        let server = try ScriptedServer.answering { _ in .text(method == "HEAD" ? "hello" : "") }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        var request = URLRequest(url: server.url())
        request.httpMethod = method
        let task = session.dataTask(with: request)
        let progress = task.progress
        task.resume()
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        #expect(task.error == nil)
        #expect(progress.isFinished)
        #expect(progress.fractionCompleted == 1)
    }

    // T-21, T-7: whatever lengths a server says one after the other
    @Test(
        "progress survives every length",
        arguments: [
            ["5", "0"], ["0", "7"], ["9223372036854775807", "0", "3"], ["2147483629", "2147483587", "2147483579"],
            ["4611686018427387847", "4611686018427387817"],
        ])
    func progressSurvivesEveryLength(lengths: [String]) async throws {
        let parts = lengths.map { "--b\r\nContent-Length: \($0)\r\n\r\n\r\n" }.joined() + "--b--\r\n"
        let server = try ScriptedServer(steps: [
            .expectRequest,
            .send(
                "HTTP/1.1 200 OK\r\nContent-Type: multipart/x-mixed-replace; boundary=b\r\n"
                    // The script answers one request a connection.
                    + "Connection: close\r\nContent-Length: \(parts.utf8.count)\r\n\r\n" + parts),
            .waitForClose,
        ])
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        var request = URLRequest(url: server.url())
        request.httpMethod = "POST"
        request.httpBody = Data("abc".utf8)
        let tasks = [session.dataTask(with: request), session.dataTask(with: server.url())]
        let progress = tasks.map(\.progress)
        // Foundation adds up fractions then.
        let all = Progress(totalUnitCount: 997)
        for part in progress { all.addChild(part, withPendingUnitCount: 3) }
        for task in tasks { task.resume() }
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        #expect(tasks.map { $0.error == nil } == [true, true])
        #expect(progress.map(\.isFinished) == [true, true])
        #expect(abs(all.fractionCompleted - 6.0 / 997) < 1e-9)
    }

    // T-10, T-21
    @Test("progress acts on the task") func progressActsOnTheTask() async throws {
        let server = try ScriptedServer.answering(.endless)
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        let task = session.dataTask(with: server.url())
        let progress = task.progress
        #expect(progress.isCancellable)
        #expect(progress.isPausable)
        task.resume()
        try await delegate.calls.wait(for: .response(1, 200))
        for (act, state) in [(progress.pause, URLSessionTask.State.suspended), (progress.resume, .running)] {
            act()
            #expect(task.state == state)
        }
        progress.cancel()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(calls.suffix(3) == [.metrics(1), .completed(1, .cancelled), .invalid])
    }

    // T-21, T-2: in the order of the calls, also those of a parent
    @Test("a task goes on after the pauses of its progress") func pausesOfItsProgress() async throws {
        let permits = Permits()
        let server = try ScriptedServer.answering(.paced(.init(repeating: 120, count: 1), portion: 1, by: permits))
        defer { server.stop() }
        let session = URLSession { _ in }
        let calls = EventRecorder<Call>()
        let task = session.dataTask(with: server.url(), completionHandler: calls.handler)
        let all = Progress(totalUnitCount: 1)
        all.addChild(task.progress, withPendingUnitCount: 1)
        task.resume()
        for _ in 0..<100 {
            all.pause()
            all.resume()
        }
        // Suspended once only.
        all.pause()
        task.progress.pause()
        #expect(task.state == .suspended)
        // Resumed by itself, it can be paused again.
        task.resume()
        #expect(task.state == .running)
        all.pause()
        #expect(task.state == .suspended)
        all.resume()
        #expect(task.state == .running)
        permits.release()
        #expect(try await calls.waitFor(count: 1) == [.handled("x", 200, nil)])
        session.invalidateAndCancel()
    }

    // MISC-21
    @Test("a request is copied when its task is made") func aRequestIsCopiedWhenItsTaskIsMade() async throws {
        let server = try ScriptedServer.answering { .text($0.path + ($0["X-Mark"] ?? "")) }
        defer { server.stop() }
        let session = URLSession { _ in }
        var request = URLRequest(url: server.url("/before"))
        request.setValue("1", forHTTPHeaderField: "X-Mark")
        let calls = EventRecorder<Call>()
        let task = session.dataTask(with: request, completionHandler: calls.handler)
        request.url = server.url("/after")
        request.setValue("2", forHTTPHeaderField: "X-Mark")
        task.resume()
        #expect(try await calls.waitFor(count: 1) == [.handled("/before1", 200, nil)])
        #expect(task.originalRequest?.url == server.url("/before"))
        session.invalidateAndCancel()
    }

    // T-13: as long as the end is not there
    @Test("the response is there when the delegate is asked about it")
    func theResponseIsThereWhenTheDelegateIsAskedAboutIt() async throws {
        let server = try ScriptedServer.answering(.text("x", status: 201))
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let seen = EventRecorder<Int?>()
        delegate.during = { call, _, task in
            switch call {
            case .created, .response, .completed: seen.record((task?.response as? HTTPURLResponse)?.statusCode)
            default: break
            }
        }
        let session = URLSession(delegate)
        session.dataTask(with: server.url()).resume()
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        #expect(seen.events == [nil, 201, 201])
    }
}
