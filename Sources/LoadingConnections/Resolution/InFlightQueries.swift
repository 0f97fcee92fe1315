internal import CLoadingLinux
internal import Glibc
internal import LoadingEvents
internal import LoadingSemantics
internal import LoadingTransport

/// Runs blocking queries, such as `getaddrinfo`, on its own threads.
///
/// A query that is already in flight is shared. Each client has its own cache, which keeps an answer for the time that
/// it determines. A query for which no request waits any more is dropped if no thread has started it. A started query
/// cannot be cancelled, and its answer is cached.
///
/// There is one thread for each concurrent query, up to a limit: only that many slow queries can block the others. A
/// thread that is idle for a while ends.
final class InFlightQueries<Memory: ResolverCache>: @unchecked Sendable {
    // Sendable because everything mutable is guarded by `mutex`.

    typealias Question = Memory.Question
    typealias Answer = Memory.Answer

    /// A query and the requests that wait for its answer.
    final class PendingQuery: @unchecked Sendable {
        // Sendable because everything mutable is guarded by the mutex of `InFlightQueries`.
        let question: Question
        var isBegun = false
        /// The clients that cache the answer, each with its clock.
        var clients: [UInt64: LoopClock] = .withRoom()
        /// Clients whose cache was cleared while the query was in flight; they do not cache the answer.
        var staleFor: Set<UInt64> = []
        /// With the number of the ticket, in the order of arrival.
        var waiting: [(number: UInt64, answer: @Sendable (Answer) -> Void)] = []

        init(_ question: Question) { self.question = question }
    }

    private let ask: @Sendable (Question) -> Answer
    private let unavailable: Answer
    private let mostThreads: Int
    private let idleSeconds: Int
    private let name: String
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    /// The queries that no thread has started. Those for which no request waits any more are skipped.
    private var queue = FIFOQueue<PendingQuery>()
    private var droppedCount = 0
    private var pending: [Question: PendingQuery] = .withRoom()
    /// By the number of the client.
    private var memories: [UInt64: Memory] = .withRoom()
    private var lastNumber: UInt64 = 0
    private var threads = 0
    private var idleThreads = 0

    fileprivate init(
        mostThreads: Int, idleSeconds: Int, name: String, unavailable: Answer,
        ask: @escaping @Sendable (Question) -> Answer
    ) {
        self.ask = ask
        self.unavailable = unavailable
        self.mostThreads = max(1, mostThreads)
        self.idleSeconds = max(0, idleSeconds)
        self.name = name
        mutex = .allocate(capacity: 1)
        condition = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        // Each thread retains this object, so no thread exists.
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    private func locked<Result>(_ body: () -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body()
    }

    // MARK: From loops

    /// Calls `answer` on `loop`, once, never before this returns, and not after the ticket is withdrawn. `isRemembered`
    /// is whether the answer was cached.
    ///
    /// - Parameters:
    ///   - client: The client whose cache is used; 0 where all share one.
    ///   - usesCache: Whether a cached answer will do. If not, the new one replaces it.
    // Not specialised, for the same reason as `queries` below.
    @inline(never)
    @_semantics("optimize.sil.specialize.generic.never")
    func ask(
        _ question: Question, by client: UInt64 = 0, on loop: EventLoop, usesCache: Bool = true,
        answer: @escaping @Sendable (_ answer: Answer, _ isRemembered: Bool) -> Void
    ) -> QueryTicket {
        pthread_mutex_lock(mutex)
        if memories[client] == nil { memories[client] = Memory() }
        if usesCache, let known = memories[client]?.answer(to: question, at: loop.clock.now) {
            pthread_mutex_unlock(mutex)
            loop.post { answer(known, true) }
            return QueryTicket {}
        }
        let query: PendingQuery
        if let known = pending[question], !known.staleFor.contains(client) {
            query = known
        } else {
            query = PendingQuery(question)
            pending[question] = query
            queue.append(query)
        }
        query.clients[client] = loop.clock
        lastNumber &+= 1
        let number = lastNumber
        query.waiting.append((number, { result in loop.post { answer(result, false) } }))
        let mustStart = idleThreads < queuedCount && threads < mostThreads
        if mustStart { threads += 1 } else { pthread_cond_signal(condition) }
        pthread_mutex_unlock(mutex)
        if mustStart, !DetachedThread.startIfPossible(named: name, { self.answerQuestions() }) {
            threadIsMissing()
        }
        return QueryTicket { self.withdraw(number, from: query) }
    }

    private func withdraw(_ number: UInt64, from query: PendingQuery) {
        // The closure may hold the last reference to other objects, so it is released outside the lock.
        let dropped = locked { () -> (@Sendable (Answer) -> Void)? in
            guard let index = query.waiting.firstIndex(where: { $0.number == number }) else { return nil }
            let waiting = query.waiting.remove(at: index).answer
            if query.waiting.isEmpty, !query.isBegun { drop(query) }
            return waiting
        }
        _ = dropped
    }

    /// Drops what a client has cached about a host.
    func forget(_ host: String, by client: UInt64) { locked { memories[client]?.forget(host) } }

    /// Adds an answer that is known from elsewhere to the cache of a client.
    func remember(_ answer: Answer, to question: Question, by client: UInt64, at now: Int64) {
        locked { memories[client, default: Memory()].remember(answer, to: question, at: now) }
    }

    /// Drops the cache of one client, or of all. The answers of queries in flight count only for requests that already
    /// wait for them.
    func forgetAnswers(by client: UInt64? = nil) {
        locked {
            for client in client.map({ [$0] }) ?? Array(memories.keys) { memories[client]?.forgetAll() }
            guard let client else { return pending = pending.filter { !$0.value.isBegun } }
            for query in pending.values where query.isBegun { query.staleFor.insert(client) }
        }
    }

    /// The client no longer exists.
    func removeClient(_ client: UInt64) { locked { memories[client] = nil } }

    /// The number of queries that no thread has started, and the number of threads.
    var queuedQuestionCount: Int { locked { queuedCount } }
    var threadCount: Int { locked { threads } }

    // MARK: The queue, with the mutex held

    private var queuedCount: Int { queue.count - droppedCount }

    private func drop(_ query: PendingQuery) {
        pending[query.question] = nil
        droppedCount += 1
        guard droppedCount > 32, droppedCount > queuedCount else { return }
        for query in queue.popAll() where !query.waiting.isEmpty { queue.append(query) }
        droppedCount = 0
    }

    private func takeFirst() -> PendingQuery? {
        while let query = queue.popFirst() {
            if !query.waiting.isEmpty {
                query.isBegun = true
                return query
            }
            droppedCount -= 1
        }
        return nil
    }

    // MARK: Threads

    /// Without any thread no query is ever answered, so all requests fail now.
    private func threadIsMissing() {
        let answers = locked { () -> [@Sendable (Answer) -> Void] in
            threads -= 1
            guard threads == 0 else { return [] }
            var answers: [@Sendable (Answer) -> Void] = []
            while let query = takeFirst() { answers += end(query) }
            return answers
        }
        for answer in answers { answer(unavailable) }
    }

    private func answerQuestions() {
        while let query = nextQuery() {
            let answer = ask(query.question)
            let waiting = locked {
                if pending[query.question] === query {
                    // A removed client has no cache.
                    for (client, clock) in query.clients where !query.staleFor.contains(client) {
                        memories[client]?.remember(answer, to: query.question, at: clock.now)
                    }
                }
                return end(query)
            }
            for deliver in waiting { deliver(answer) }
        }
    }

    /// The waiting requests, in the order of their arrival. Called with the mutex held.
    private func end(_ query: PendingQuery) -> [@Sendable (Answer) -> Void] {
        if pending[query.question] === query { pending[query.question] = nil }
        defer { query.waiting = [] }
        return query.waiting.map { $0.answer }
    }

    /// Waits for a query. Returns nil after an idle time; then the thread ends.
    private func nextQuery() -> PendingQuery? {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        var deadline = timespec()
        clock_gettime(CLOCK_MONOTONIC, &deadline)
        deadline.tv_sec += idleSeconds
        while true {
            if let query = takeFirst() { return query }
            idleThreads += 1
            let outcome = pthread_cond_timedwait(condition, mutex, &deadline)
            idleThreads -= 1
            if outcome == ETIMEDOUT, queuedCount == 0 {
                threads -= 1
                return nil
            }
        }
    }
}

extension ResolverCache {
    /// Queries whose answers such caches keep.
    ///
    /// Not specialised. Code that knows the types asks the runtime by name for that of the queries, and the runtime
    /// then searches all conformances for that of the cache, which a process's first load waits for. Generic code
    /// brings the conformance along.
    ///
    /// - Parameters:
    ///   - mostThreads: The maximum number of concurrent queries.
    ///   - idleSeconds: How long an idle thread is kept.
    ///   - name: The name of the threads.
    ///   - unavailable: The answer if no thread can be started.
    ///   - ask: Runs a query. It may block; called on any thread.
    @inline(never)
    @_semantics("optimize.sil.specialize.generic.never")
    static func queries(
        mostThreads: Int, idleSeconds: Int, name: String = "url-resolve", unavailable: Answer,
        ask: @escaping @Sendable (Question) -> Answer
    ) -> InFlightQueries<Self> {
        InFlightQueries(
            mostThreads: mostThreads, idleSeconds: idleSeconds, name: name, unavailable: unavailable, ask: ask)
    }
}

/// One request for an answer.
package struct QueryTicket: Sendable {
    /// The answer is no longer needed.
    package let withdraw: @Sendable () -> Void
}
