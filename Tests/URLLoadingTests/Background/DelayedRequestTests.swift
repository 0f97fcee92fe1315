import Foundation
import TestSupport
import Testing
import URLLoading

/// Tasks of background sessions that begin later.
@Suite(.leavesNothing) struct DelayedRequestTests {
    private let service: BackgroundServiceInProcess

    init() throws { service = try BackgroundServiceInProcess() }

    private func session(_ delegate: any URLSessionDelegate) -> URLSession {
        URLSession(configuration: service.configuration(), delegate: delegate, delegateQueue: nil)
    }

    private func calls(
        _ url: URL, in seconds: Double = 0.05, _ delegate: AnsweringDelegate
    ) async throws -> (calls: [Call], task: URLSessionTask) {
        let session = session(delegate)
        let task = session.downloadTask(with: url)
        task.earliestBeginDate = Date(timeIntervalSinceNow: seconds)
        task.resume()
        _ = try await delegate.calls.waitUntil("the task's end") { $0.contains { $0.isCompletion } }
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        service.stop()
        return (calls, task)
    }

    // T-18, T-27, BG-17: not before its time, then the delegate is asked, and it goes on
    @Test("a delayed request is loaded at its date", arguments: [0.05, -10]) func aDelayedRequest(seconds: Double)
        async throws
    {
        let server = try ScriptedServer.answering(.text("now"))
        defer { server.stop() }
        let start = Date()
        #expect(
            try await calls(server.url(), in: seconds, AnsweringDelegate()).calls == [
                .created(1), .delayed(1), .metrics(1), .completed(1, nil), .invalid,
            ])
        if seconds > 0 { #expect(Date().timeIntervalSince(start) >= seconds) }
    }

    // T-18: dates that have always been reached
    @Test("a date that is none", arguments: [-Double.infinity, .nan]) func aDateThatIsNone(seconds: Double) async throws
    {
        let server = try ScriptedServer.answering(.text("now"))
        defer { server.stop() }
        #expect(
            try await calls(server.url(), in: seconds, AnsweringDelegate()).calls == [
                .created(1), .metrics(1), .completed(1, nil), .invalid,
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
        let (calls, task) = try await calls(server.url("/first"), delegate)
        #expect(calls == [.created(1), .delayed(1), .metrics(1), .completed(1, nil), .invalid])
        #expect(seen.events == [URLRequest(url: server.url("/first"))])
        #expect(server.requests.map(\.target) == ["/other"])
        #expect(task.originalRequest?.url == server.url("/first"))
        #expect(task.currentRequest?.url == server.url("/other"))
    }

    // BG-17, BG-2, T-53: a download sends the body of the new request, an upload its file
    @Test(
        "another body", arguments: [false, true],
        [["first", "second"], ["first", nil], [nil, "second"]] as [[String?]])
    func anotherBody(isUpload: Bool, bodies: [String?]) async throws {
        let (first, second) = (bodies[0], bodies[1])
        let server = try ScriptedServer.answering(.text("ok"))
        defer { server.stop() }
        func request(_ text: String?) -> URLRequest {
            var request = URLRequest(url: server.url())
            request.httpMethod = "POST"
            request.httpBody = text.map { Data($0.utf8) }
            request.setValue(text ?? "none", forHTTPHeaderField: "X-Body")
            return request
        }
        let delegate = AnsweringDelegate()
        let new = request(second)
        delegate.delay = { _, reply in reply(.useNewRequest, new) }
        let session = session(delegate)
        let task: URLSessionTask
        if isUpload {
            let file = try service.folder.write("file", to: "own/body")
            task = session.uploadTask(with: request(first), fromFile: file)
        } else {
            task = session.downloadTask(with: request(first))
        }
        task.earliestBeginDate = Date(timeIntervalSinceNow: 0.01)
        task.resume()
        _ = try await delegate.calls.waitUntil("the task's end") { $0.contains(.completed(1, nil)) }
        #expect(server.requests.map(\.bodyText) == [isUpload ? "file" : second ?? ""])
        #expect(server.requests.map { $0["X-Body"] } == [second ?? "none"])
        #expect(task.currentRequest?.httpBody == new.httpBody)
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        try await eventually { [service] in service.files(in: "uploads") == [] }
        service.stop()
    }

    // BG-17, BG-6
    @Test("a program that comes back knows the new request") func newRequestAfterARelaunch() async throws {
        let held = Signal("the request")
        let server = try ScriptedServer { connection in
            _ = try connection.nextRequest()
            held.fire()
            _ = try? connection.waitForClose()
        }
        defer { server.stop() }
        var new = URLRequest(url: server.url("/other"))
        new.httpMethod = "POST"
        new.httpBody = Data("second".utf8)
        new.setValue("own", forHTTPHeaderField: "X-Own")
        let delegate = AnsweringDelegate()
        delegate.delay = { [new] in $1(.useNewRequest, new) }
        let first = session(delegate)
        let task = first.downloadTask(with: server.url("/first"))
        task.earliestBeginDate = Date(timeIntervalSinceNow: 0.01)
        task.resume()
        try await held.wait()
        first.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        let other = AnsweringDelegate()
        let second = session(other)
        let again = try #require(await second.allTasks.first)
        #expect(again.currentRequest == new)
        #expect(again.originalRequest?.url == server.url("/first"))
        second.invalidateAndCancel()
        _ = try await other.callsUntilInvalid()
        service.stop()
    }

    // BG-17: a new request that is none leaves the old one
    @Test("an invalid new request") func anInvalidNewRequest() async throws {
        let server = try ScriptedServer.answering(.text("same"))
        defer { server.stop() }
        let delegate = AnsweringDelegate()
        delegate.delay = { $1(.useNewRequest, nil) }
        #expect(
            try await calls(server.url(), delegate).calls == [
                .created(1), .delayed(1), .metrics(1), .completed(1, nil), .invalid,
            ])
    }

    // BG-17, T-5
    @Test("the delegate cancels the task") func theDelegateCancelsTheTask() async throws {
        let server = try ScriptedServer.answering(.text("never"))
        defer { server.stop() }
        let delegate = AnsweringDelegate()
        delegate.delay = { $1(.cancel, nil) }
        let calls = try await calls(server.url(), delegate).calls
        #expect(calls.filter { $0 != .metrics(1) } == [.created(1), .delayed(1), .completed(1, .cancelled), .invalid])
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

        func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) { completed.record(0) }
    }

    // BG-17: the other spelling
    @Test("an async delegate") func anAsyncDelegate() async throws {
        let server = try ScriptedServer.answering(.text("x"))
        defer { server.stop() }
        let delegate = AsyncDelegate(server.url("/chosen"))
        let session = session(delegate)
        let task = session.downloadTask(with: server.url("/first"))
        task.earliestBeginDate = Date(timeIntervalSinceNow: 0.01)
        task.resume()
        #expect(try await delegate.completed.waitFor(count: 1) == [200])
        session.finishTasksAndInvalidate()
        #expect(try await delegate.completed.waitFor(count: 2) == [200, 0])
        service.stop()
        #expect(server.requests.map(\.target) == ["/chosen"])
    }

    // T-5, T-18: nothing of it is left
    @Test("cancelling before the time", arguments: [false, true])
    func cancellingBeforeTheTime(byInvalidation: Bool) async throws {
        let delegate = AnsweringDelegate()
        let session = session(delegate)
        let task = session.downloadTask(with: try #require(URL(string: "http://127.0.0.1:1/")))
        task.earliestBeginDate = .distantFuture
        task.resume()
        if byInvalidation {
            session.invalidateAndCancel()
        } else {
            task.cancel()
            _ = try await delegate.calls.waitUntil("the task's end") { $0.contains { $0.isCompletion } }
            session.finishTasksAndInvalidate()
        }
        let calls = try await delegate.callsUntilInvalid()
        #expect(calls.filter { $0 != .metrics(1) } == [.created(1), .completed(1, .cancelled), .invalid])
        service.stop()
    }

    // BG-17, T-5: the answer that comes after the end starts nothing
    @Test("cancelling while the delegate is asked") func cancellingWhileTheDelegateIsAsked() async throws {
        let server = try ScriptedServer.answering(.text("never"))
        defer { server.stop() }
        let delegate = AnsweringDelegate()
        let replies = Watched<[AnsweringDelegate.DelayReply]>([])
        delegate.delay = { _, reply in replies.withValue { $0.append(reply) } }
        let session = session(delegate)
        let task = session.downloadTask(with: server.url())
        task.earliestBeginDate = Date(timeIntervalSinceNow: 0.01)
        task.resume()
        let reply = try await replies.wait(for: "the question") { $0.first }
        task.cancel()
        _ = try await delegate.calls.waitUntil("the task's end") { $0.contains { $0.isCompletion } }
        reply(.continueLoading, nil)
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(calls.filter { $0 != .metrics(1) } == [.created(1), .delayed(1), .completed(1, .cancelled), .invalid])
        service.stop()
        #expect(server.requests.isEmpty)
    }

    // T-18: other sessions ignore the date
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
        service.stop()
    }

    // T-18: a date that is set back lets it begin
    @Test("an earlier date") func anEarlierDate() async throws {
        let server = try ScriptedServer.answering(.text("now"))
        defer { server.stop() }
        let delegate = AnsweringDelegate()
        let session = session(delegate)
        let task = session.downloadTask(with: server.url())
        task.earliestBeginDate = .distantFuture
        task.resume()
        #expect(await session.allTasks.map(\.taskIdentifier) == [1])
        task.earliestBeginDate = Date(timeIntervalSinceNow: 0.01)
        _ = try await delegate.calls.waitUntil("the task's end") { $0.contains { $0.isCompletion } }
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .delayed(1), .metrics(1), .completed(1, nil), .invalid,
            ])
        service.stop()
    }
}
