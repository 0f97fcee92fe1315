import Foundation
import TestSupport
import Testing
import URLLoading

/// Data tasks that become download tasks.
@Suite(.leavesNothing) struct BecomeDownloadTests {
    private static let body = [UInt8].pattern(count: 1_500_000)

    private func run(
        _ server: ScriptedServer, _ delegate: RecordingDownloadDelegate,
        _ prepare: (URLSessionDataTask) -> Void = { _ in }
    ) async throws -> [Call] {
        delegate.answer = { $1(.becomeDownload) }
        let session = URLSession(delegate)
        let task = session.dataTask(with: server.url())
        prepare(task)
        task.resume()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(delegate.faults.events == [])
        return calls
    }

    // S-64, T-44
    @Test("the data task gets no more callbacks, the download task gets the rest")
    func theDataTaskGetsNoMoreCallbacksTheDownloadTaskGetsTheRest() async throws {
        let server = try ScriptedServer.answering(.bytes(Self.body))
        defer { server.stop() }
        let delegate = RecordingDownloadDelegate()
        let facts = EventRecorder<String>()
        delegate.became = { task in
            facts.record("\(task.state == .running)")
            facts.record("\((task.response as? HTTPURLResponse)?.statusCode ?? 0)")
            facts.record("\(task.originalRequest?.url?.path ?? "")")
            facts.record("\(task.priority)")
            facts.record("\(task.countOfBytesExpectedToReceive)")
        }
        let data = Watched<URLSessionDataTask?>(nil)
        let calls = try await run(server, delegate) { task in
            task.priority = 0.75
            data.withValue { $0 = task }
        }
        let size = Self.body.count
        #expect(
            calls == [
                .created(1), .response(1, 200), .became(1, 2), .wrote(2, Int64(size), Int64(size)),
                .downloaded(2, size), .metrics(2), .completed(2, nil), .invalid,
            ])
        #expect(delegate.contents.events == [Data(Self.body)])
        #expect(facts.events == ["true", "200", "/", "0.75", "1500000"])
        #expect(data.current?.state == .completed)
        #expect(data.current?.error == nil)
    }

    // T-44: prefersIncrementalDelivery of the data task means nothing any more
    @Test("a data task that collects") func aDataTaskThatCollects() async throws {
        let server = try ScriptedServer.answering(.text("hello"))
        defer { server.stop() }
        let calls = try await run(server, RecordingDownloadDelegate()) { $0.prefersIncrementalDelivery = false }
        #expect(
            calls == [
                .created(1), .response(1, 200), .became(1, 2), .wrote(2, 5, 5), .downloaded(2, 5), .metrics(2),
                .completed(2, nil), .invalid,
            ])
    }

    // T-44
    @Test("the download is cancelled as it begins") func theDownloadIsCancelledAsItBegins() async throws {
        let server = try ScriptedServer.answering(.endless)
        defer { server.stop() }
        let delegate = RecordingDownloadDelegate()
        delegate.became = { $0.cancel() }
        let calls = try await run(server, delegate)
        #expect(
            calls == [
                .created(1), .response(1, 200), .became(1, 2), .metrics(2), .completed(2, .cancelled), .invalid,
            ])
    }

    // T-43, T-44, T-5: the answer comes too late
    @Test("the data task was cancelled before it became one") func theDataTaskWasCancelledBeforeItBecameOne()
        async throws
    {
        let server = try ScriptedServer.answering(.endless)
        defer { server.stop() }
        let delegate = RecordingDownloadDelegate()
        delegate.during = { call, _, task in if call == .response(1, 200) { task?.cancel() } }
        #expect(
            try await run(server, delegate) == [
                .created(1), .response(1, 200), .metrics(1), .completed(1, .cancelled), .invalid,
            ])
    }

    // T-44, T-7: only the download reports the end
    @Test("the data task is cancelled as it becomes one") func theDataTaskIsCancelledAsItBecomesOne() async throws {
        let server = try ScriptedServer.answering(.endless)
        defer { server.stop() }
        let delegate = RecordingDownloadDelegate()
        delegate.during = { call, _, task in if call == .became(1, 2) { task?.cancel() } }
        let data = Watched<URLSessionDataTask?>(nil)
        let calls = try await run(server, delegate) { task in data.withValue { $0 = task } }
        #expect(
            calls == [
                .created(1), .response(1, 200), .became(1, 2), .metrics(2), .completed(2, .cancelled), .invalid,
            ])
        #expect(data.current?.state == .completed)
        #expect(data.current?.error == nil)
    }

    // T-3: suspended before it has the load
    @Test("the download is suspended as it begins") func theDownloadIsSuspendedAsItBegins() async throws {
        let server = try ScriptedServer.answering(.bytes(Self.body))
        defer { server.stop() }
        let delegate = RecordingDownloadDelegate()
        delegate.became = { task in
            task.suspend()
            task.resume()
        }
        _ = try await run(server, delegate)
        #expect(delegate.contents.events == [Data(Self.body)])
    }

    // T-43: after finishTasksAndInvalidate
    @Test("a late answer") func aLateAnswer() async throws {
        let server = try ScriptedServer.answering(.bytes(Self.body))
        defer { server.stop() }
        let delegate = RecordingDownloadDelegate()
        let answer = Watched<(@Sendable (URLSession.ResponseDisposition) -> Void)?>(nil)
        let isAsked = Signal("a response")
        delegate.answer = { _, handler in
            answer.withValue { $0 = handler }
            isAsked.fire()
        }
        let session = URLSession(delegate)
        session.dataTask(with: server.url()).resume()
        session.finishTasksAndInvalidate()
        try await isAsked.wait()
        answer.current?(.becomeDownload)
        #expect(try await delegate.callsUntilInvalid().suffix(3) == [.metrics(2), .completed(2, nil), .invalid])
        #expect(delegate.contents.events == [Data(Self.body)])
    }

    // T-44: the new task starts running, whatever the data task was doing
    @Test("the data task was suspended") func theDataTaskWasSuspended() async throws {
        let server = try ScriptedServer.answering(.text("hello"))
        defer { server.stop() }
        let delegate = RecordingDownloadDelegate()
        delegate.answer = { task, answer in
            task.suspend()
            answer(.becomeDownload)
        }
        let session = URLSession(delegate)
        session.dataTask(with: server.url()).resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .response(1, 200), .became(1, 2), .wrote(2, 5, 5), .downloaded(2, 5), .metrics(2),
                .completed(2, nil), .invalid,
            ])
    }
}
