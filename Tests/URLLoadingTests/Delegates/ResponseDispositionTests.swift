import Foundation
import TestSupport
import Testing
import URLLoading

/// The effects of response dispositions.
@Suite(.leavesNothing) struct ResponseDispositionTests {
    // T-43, S-63
    @Test("cancel ends the task without its body") func cancelEndsTheTaskWithoutItsBody() async throws {
        let server = try ScriptedServer.answering(.endless)
        defer { server.stop() }
        let delegate = RecordingDelegate()
        delegate.answer = { $1(.cancel) }
        let session = URLSession(delegate)
        session.dataTask(with: server.url()).resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .response(1, 200), .metrics(1), .completed(1, .cancelled), .invalid,
            ])
        #expect(delegate.faults.events == [])
    }

    // T-43, S-65, CONN-22
    @Test("no answer, no body, and the server has to wait") func noAnswerNoBodyAndTheServerHasToWait() async throws {
        let server = try ScriptedServer.answering(.bytes(.init(repeating: 120, count: 20_000_000)))
        defer { server.stop() }
        let answer = Watched<(@Sendable (URLSession.ResponseDisposition) -> Void)?>(nil)
        let delegate = CountingDelegate()
        delegate.answer = { _, handler in answer.withValue { $0 = handler } }
        let session = URLSession(delegate)
        session.dataTask(with: server.url()).resume()
        let connection = try await server.connection(0)
        let accepted = try await connection.waitUntilBlocked()
        #expect(accepted < 12_000_000)
        #expect(delegate.received.current == 0)
        // From any thread, any time later.
        answer.current?(.allow)
        session.finishTasksAndInvalidate()
        try await delegate.ended.wait()
        #expect(delegate.received.current == 20_000_000)
    }

    // T-67
    @Test("only the first answer counts") func onlyTheFirstAnswerCounts() async throws {
        let server = try ScriptedServer.answering(.text("hello"))
        defer { server.stop() }
        let delegate = RecordingDelegate()
        delegate.answer = { _, handler in
            handler(.allow)
            handler(.cancel)
            handler(.allow)
        }
        let session = URLSession(delegate)
        session.dataTask(with: server.url()).resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .response(1, 200), .data(1, "hello"), .metrics(1), .completed(1, nil), .invalid,
            ])
    }

    // T-67
    @Test("without an answer cancel ends the task, and an answer after that does nothing")
    func withoutAnAnswerCancelEndsTheTaskAndAnAnswerAfterThatDoesNothing() async throws {
        let server = try ScriptedServer.answering(.text("hello"))
        defer { server.stop() }
        let answer = Watched<(@Sendable (URLSession.ResponseDisposition) -> Void)?>(nil)
        let delegate = RecordingDelegate()
        delegate.answer = { _, handler in answer.withValue { $0 = handler } }
        let session = URLSession(delegate)
        let task = session.dataTask(with: server.url())
        task.resume()
        try await delegate.calls.wait(for: .response(1, 200))
        task.cancel()
        session.finishTasksAndInvalidate()
        let expected: [Call] = [
            .created(1), .response(1, 200), .metrics(1), .completed(1, .cancelled), .invalid,
        ]
        #expect(try await delegate.callsUntilInvalid() == expected)
        answer.current?(.allow)
        answer.withValue { $0 = nil }
        #expect(delegate.calls.events == expected)
    }

    // T-67, C-8
    @Test("without an answer the resource timer ends the task") func withoutAnAnswerTheResourceTimerEndsTheTask()
        async throws
    {
        let server = try ScriptedServer.answering(.text("hello"))
        defer { server.stop() }
        let delegate = RecordingDelegate()
        delegate.answer = { _, _ in }
        let session = URLSession(delegate) { $0.timeoutIntervalForResource = 0.1 }
        session.dataTask(with: server.url()).resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .response(1, 200), .metrics(1), .completed(1, .timedOut), .invalid,
            ])
    }

    // T-43, S-62: the async spelling
    @Test("the async method is asked as well", arguments: [URLSession.ResponseDisposition.allow, .cancel])
    func theAsyncMethodIsAskedAsWell(disposition: URLSession.ResponseDisposition) async throws {
        final class Delegate: NSObject, URLSessionDataDelegate, @unchecked Sendable {
            let calls = EventRecorder<Call>()
            let disposition: URLSession.ResponseDisposition
            init(_ disposition: URLSession.ResponseDisposition) { self.disposition = disposition }
            func urlSession(
                _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse
            ) async -> URLSession.ResponseDisposition {
                calls.record(.response(dataTask.taskIdentifier, 200))
                await Task.yield()
                return disposition
            }
            func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
                calls.record(.data(dataTask.taskIdentifier, String(decoding: data, as: UTF8.self)))
            }
            func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
                calls.record(.completed(task.taskIdentifier, error?.urlErrorCode))
            }
        }
        let server = try ScriptedServer.answering(.text("hello"))
        defer { server.stop() }
        let delegate = Delegate(disposition)
        let session = URLSession(delegate)
        // The second task meets a class whose methods are known.
        for task in 1...2 {
            session.dataTask(with: server.url()).resume()
            let calls = try await delegate.calls.waitUntil { $0.completionCount == task }.of(task)
            #expect(
                calls
                    == (disposition == .allow
                        ? [.response(task, 200), .data(task, "hello"), .completed(task, nil)]
                        : [.response(task, 200), .completed(task, .cancelled)]))
        }
        session.invalidateAndCancel()
    }
}
