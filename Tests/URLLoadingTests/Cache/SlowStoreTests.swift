import Foundation
import TestSupport
import Testing
import URLLoading

/// Tasks that are suspended or cancelled while a store subclass has not answered.
@Suite(.leavesNothing) struct SlowStoreTests {
    enum Store: CaseIterable, Sendable { case cookies, cache }

    /// Pending queries of a store.
    private final class QueryQueue: Sendable {
        private let waiting = Watched<[@Sendable () -> Void]>([])
        /// The number of held queries. Later ones are answered at once.
        private let held = Watched(1)

        func take(_ answer: @escaping @Sendable () -> Void) {
            let isHeld = held.withValue { count in
                defer { count -= 1 }
                return count > 0
            }
            if isHeld { waiting.withValue { $0.append(answer) } } else { answer() }
        }

        func waitForQuery() async throws {
            try await waiting.wait(for: "a question") { $0.isEmpty ? nil : () }
        }

        func answer() {
            let answers = waiting.withValue { waiting in
                defer { waiting = [] }
                return waiting
            }
            for answer in answers { answer() }
        }
    }

    private final class SlowCookies: HTTPCookieStorage, @unchecked Sendable {
        let queries: QueryQueue
        init(_ queries: QueryQueue) { self.queries = queries }
        override func getCookiesFor(
            _ task: URLSessionTask, completionHandler: @escaping @Sendable ([HTTPCookie]?) -> Void
        ) {
            queries.take { super.getCookiesFor(task, completionHandler: completionHandler) }
        }
    }

    private final class SlowCache: URLCache, @unchecked Sendable {
        let queries: QueryQueue
        init(_ queries: QueryQueue) {
            self.queries = queries
            super.init(memoryCapacity: 1 << 20, diskCapacity: 0, directory: nil)
        }
        override func getCachedResponse(
            for dataTask: URLSessionDataTask, completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
        ) {
            queries.take { super.getCachedResponse(for: dataTask, completionHandler: completionHandler) }
        }
    }

    private func session(_ delegate: RecordingDelegate, _ store: Store, _ queries: QueryQueue) -> URLSession {
        URLSession(delegate) {
            switch store {
            case .cookies: $0.httpCookieStorage = SlowCookies(queries)
            case .cache: $0.urlCache = SlowCache(queries)
            }
        }
    }

    /// A task whose store has not answered.
    private func task(of session: URLSession, at url: URL, until queries: QueryQueue) async throws -> URLSessionDataTask
    {
        let task = session.dataTask(with: url)
        task.resume()
        try await queries.waitForQuery()
        return task
    }

    // T-2, COOK-17, CACHE-26: the answer is remembered, and nothing goes out before the task goes on
    @Test("suspended meanwhile", arguments: Store.allCases, [false, true])
    func suspendedMeanwhile(store: Store, answersInTime: Bool) async throws {
        let (server, delegate, queries) = (
            try ScriptedServer.answering { .text($0.path) }, RecordingDelegate(), QueryQueue()
        )
        defer { server.stop() }
        let session = session(delegate, store, queries)
        let task = try await task(of: session, at: server.url("/first"), until: queries)
        task.suspend()
        if answersInTime { queries.answer() }
        // Through the same loop, behind the answer.
        session.dataTask(with: server.url("/second")).resume()
        _ = try await delegate.calls(untilCompletions: 1)
        #expect(server.requests.map(\.path) == ["/second"])
        task.resume()
        if !answersInTime { queries.answer() }
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(
            calls.of(1) == [
                .created(1), .response(1, 200), .data(1, "/first"), .metrics(1), .completed(1, nil),
            ])
        #expect(server.requests.map(\.path) == ["/second", "/first"])
        #expect(delegate.faults.events == [])
    }

    // T-5, COOK-17, CACHE-26: one end, and the answer is ignored
    @Test("cancelled meanwhile", arguments: Store.allCases, [false, true])
    func cancelledMeanwhile(store: Store, isSuspended: Bool) async throws {
        let (server, delegate, queries) = (
            try ScriptedServer.answering { .text($0.path) }, RecordingDelegate(), QueryQueue()
        )
        defer { server.stop() }
        let session = session(delegate, store, queries)
        let task = try await task(of: session, at: server.url("/first"), until: queries)
        if isSuspended { task.suspend() }
        task.cancel()
        #expect(
            try await delegate.calls(untilCompletions: 1) == [.created(1), .metrics(1), .completed(1, .cancelled)])
        queries.answer()
        session.dataTask(with: server.url("/second")).resume()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(calls.of(1) == [.created(1), .metrics(1), .completed(1, .cancelled)])
        #expect(calls.of(2).last == .completed(2, nil))
        #expect(server.requests.map(\.path) == ["/second"])
        #expect(delegate.faults.events == [])
    }
}
