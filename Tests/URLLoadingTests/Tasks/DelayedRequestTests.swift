import Foundation
import LoadingSemantics
import LoadingTestSupport
import TestSupport
import Testing
import URLLoading

/// Tasks of background sessions that begin later.
@Suite(.leavesNothing) struct DelayedRequestTests {
    private func session(_ delegate: AnsweringDelegate, on stepped: SteppedLoop? = nil) -> URLSession {
        let queue = OperationQueue(name: "calls", width: 1)
        delegate.queue = queue
        let configuration = URLSessionConfiguration.background(withIdentifier: "delays-\(UUID().uuidString)")
        configuration.loop = stepped?.loop
        return URLSession(configuration: configuration, delegate: delegate, delegateQueue: queue)
    }

    private func calls(
        _ url: URL, in seconds: Double = 0.05, _ delegate: AnsweringDelegate
    ) async throws -> [Call] {
        let session = session(delegate)
        let task = session.dataTask(with: url)
        task.earliestBeginDate = Date(timeIntervalSinceNow: seconds)
        task.resume()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(delegate.faults.events == [])
        return calls
    }

    // T-18, T-27, BG-17: not before its time, then the delegate is asked, and it goes on
    @Test("a delayed request is loaded at its date", arguments: [0.05, -10, -.infinity, .nan])
    func aDelayedRequestIsLoadedAtItsDate(seconds: Double) async throws {
        let server = try ScriptedServer.answering(.text("now"))
        defer { server.stop() }
        let start = Date()
        let delegate = AnsweringDelegate()
        #expect(
            try await calls(server.url(), in: seconds, delegate) == [
                .created(1), .delayed(1), .response(1, 200), .data(1, "now"), .metrics(1), .completed(1, nil), .invalid,
            ])
        if seconds > 0 { #expect(Date().timeIntervalSince(start) >= seconds) }
    }

    // T-18, BG-17: by the wall clock, which is looked at now and then
    @Test("a request that is delayed for an hour") func aRequestThatIsDelayedForAnHour() async throws {
        let server = try ScriptedServer.answering(.text("now"))
        defer { server.stop() }
        let stepped = try SteppedLoop()
        let delegate = AnsweringDelegate()
        let session = session(delegate, on: stepped)
        let task = session.dataTask(with: server.url())
        task.earliestBeginDate = Date(timeIntervalSince1970: Double(stepped.wallNow) / 1e9 + 3600)
        task.resume()
        session.finishTasksAndInvalidate()
        try await stepped.step(by: TimeLimits.seconds(3599))
        #expect(delegate.calls.events == [.created(1)])
        #expect(server.connectionCount == 0)
        try await stepped.step(by: TimeLimits.seconds(1) + TimeLimits.milliseconds(1))
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .delayed(1), .response(1, 200), .data(1, "now"), .metrics(1), .completed(1, nil), .invalid,
            ])
    }

    // BG-17
    @Test("another request in its place") func anotherRequestInItsPlace() async throws {
        let server = try ScriptedServer.answering(.text("other"))
        defer { server.stop() }
        let delegate = AnsweringDelegate()
        let seen = EventRecorder<URLRequest>()
        delegate.delay = { request, reply in
            seen.record(request)
            reply(.useNewRequest, URLRequest(url: server.url("/other")))
            // A second answer is none (T-67).
            reply(.cancel, nil)
        }
        let session = session(delegate)
        let task = session.dataTask(with: server.url("/first"))
        task.earliestBeginDate = Date(timeIntervalSinceNow: 0.01)
        task.resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .delayed(1), .response(1, 200), .data(1, "other"), .metrics(1), .completed(1, nil),
                .invalid,
            ])
        #expect(seen.events == [URLRequest(url: server.url("/first"))])
        #expect(server.requests.map(\.target) == ["/other"])
        #expect(task.originalRequest?.url == server.url("/first"))
        #expect(task.currentRequest?.url == server.url("/other"))
    }

    // BG-17: a new request that is none leaves the old one
    @Test("an invalid new request") func anInvalidNewRequest() async throws {
        let server = try ScriptedServer.answering(.text("same"))
        defer { server.stop() }
        let delegate = AnsweringDelegate()
        delegate.delay = { $1(.useNewRequest, nil) }
        #expect(
            try await calls(server.url(), delegate) == [
                .created(1), .delayed(1), .response(1, 200), .data(1, "same"), .metrics(1), .completed(1, nil),
                .invalid,
            ])
    }

    // BG-17, T-5
    @Test("the delegate cancels the task") func theDelegateCancelsTheTask() async throws {
        let server = try ScriptedServer.answering(.text("never"))
        defer { server.stop() }
        let delegate = AnsweringDelegate()
        delegate.delay = { $1(.cancel, nil) }
        #expect(
            try await calls(server.url(), delegate) == [
                .created(1), .delayed(1), .metrics(1), .completed(1, .cancelled), .invalid,
            ])
        #expect(server.requests.isEmpty)
    }

    private final class AsyncDelegate: NSObject, URLSessionDataDelegate, @unchecked Sendable {
        // Sendable because it never changes.
        let url: URL
        let completed = EventRecorder<Int>()

        init(_ url: URL) { self.url = url }

        func urlSession(
            _ session: URLSession, task: URLSessionTask, willBeginDelayedRequest request: URLRequest
        ) async -> (URLSession.DelayedRequestDisposition, URLRequest?) {
            await Task.yield()
            return (.useNewRequest, URLRequest(url: url))
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            completed.record((task.response as? HTTPURLResponse)?.statusCode ?? -1)
        }
    }

    // BG-17: the other spelling
    @Test("an async delegate") func anAsyncDelegate() async throws {
        let server = try ScriptedServer.answering(.text("x"))
        defer { server.stop() }
        let delegate = AsyncDelegate(server.url("/chosen"))
        let session = URLSession(
            configuration: .background(withIdentifier: "delays-\(UUID().uuidString)"), delegate: delegate,
            delegateQueue: nil)
        let task = session.downloadTask(with: server.url("/first"))
        task.earliestBeginDate = Date(timeIntervalSinceNow: 0.01)
        task.resume()
        session.finishTasksAndInvalidate()
        #expect(try await delegate.completed.waitFor(count: 1) == [200])
        #expect(server.requests.map(\.target) == ["/chosen"])
    }

    // T-5, T-18: nothing of it is left, no timer either
    @Test("cancelling before the time", arguments: [false, true])
    func cancellingBeforeTheTime(byInvalidation: Bool) async throws {
        let delegate = AnsweringDelegate()
        let session = session(delegate)
        let task = session.dataTask(with: try #require(URL(string: "http://127.0.0.1:1/")))
        task.earliestBeginDate = .distantFuture
        task.resume()
        if byInvalidation {
            session.invalidateAndCancel()
        } else {
            task.cancel()
            session.finishTasksAndInvalidate()
        }
        let calls = try await delegate.callsUntilInvalid()
        #expect(calls.filter { $0 != .metrics(1) } == [.created(1), .completed(1, .cancelled), .invalid])
    }

    // BG-17, T-5: the answer that comes after the end starts nothing
    @Test("cancelling while the delegate is asked") func cancellingWhileTheDelegateIsAsked() async throws {
        let server = try ScriptedServer.answering(.text("never"))
        defer { server.stop() }
        let delegate = AnsweringDelegate()
        let replies = Watched<[AnsweringDelegate.DelayReply]>([])
        delegate.delay = { _, reply in replies.withValue { $0.append(reply) } }
        let session = session(delegate)
        let task = session.dataTask(with: server.url())
        task.earliestBeginDate = Date(timeIntervalSinceNow: 0.01)
        task.resume()
        let reply = try await replies.wait(for: "the question") { $0.first }
        task.cancel()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .delayed(1), .metrics(1), .completed(1, .cancelled), .invalid,
            ])
        reply(.continueLoading, nil)
        await URLSession.shared.flush()
        #expect(server.requests.isEmpty)
    }

    // T-18: other sessions do not heed the date
    @Test("only background sessions wait") func onlyBackgroundSessionsWait() async throws {
        let server = try ScriptedServer.answering(.text("at once"))
        defer { server.stop() }
        let delegate = AnsweringDelegate()
        let session = URLSession(delegate)
        let task = session.dataTask(with: server.url())
        task.earliestBeginDate = .distantFuture
        task.resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .response(1, 200), .data(1, "at once"), .metrics(1), .completed(1, nil), .invalid,
            ])
    }

    // T-2, T-18: its time comes while it is suspended
    @Test("a suspended task waits on") func aSuspendedTaskWaitsOn() async throws {
        let server = try ScriptedServer.answering(.text("later"))
        defer { server.stop() }
        let delegate = AnsweringDelegate()
        let session = session(delegate)
        let task = session.dataTask(with: server.url())
        task.earliestBeginDate = Date(timeIntervalSinceNow: 0.01)
        task.resume()
        task.suspend()
        try await delegate.calls.wait(for: .delayed(1))
        await session.flush()
        #expect(server.requests.isEmpty)
        task.resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .delayed(1), .response(1, 200), .data(1, "later"), .metrics(1), .completed(1, nil),
                .invalid,
            ])
    }
}
