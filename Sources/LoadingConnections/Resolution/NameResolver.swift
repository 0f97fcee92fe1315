internal import CLoadingLinux
internal import Glibc
internal import LoadingEvents
package import LoadingTransport

/// Resolves host names with the system's resolver (hosts file, DNS, mDNS: whatever the machine is set up for) on
/// threads of its own, since `getaddrinfo` blocks.
///
/// The families are asked for one by one, so that a slow AAAA answer never holds up a quick A answer (RFC 8305 §3).
/// Who asks what is being asked already shares its answer, and answers are remembered for a short while, as a browser
/// does. A question that nobody waits for any more is dropped if no thread has begun it; a thread that is asking cannot
/// be called off, and its answer is remembered.
///
/// There are as many threads as there are questions at a time, up to a limit: only as many slow names can hold up the
/// others. A thread without a question for a while ends.
package final class NameResolver: @unchecked Sendable {
    // Sendable because everything mutable is guarded by `mutex`.

    package static let shared = NameResolver(ask: askSystem)

    /// A question and who waits for its answer.
    fileprivate final class Inquiry: @unchecked Sendable {
        // Sendable because everything mutable is guarded by the resolver's mutex.
        let question: NameQuestion
        var isBegun = false
        /// By number.
        var waiting: [UInt64: @Sendable (NameAnswer) -> Void] = [:]

        init(_ question: NameQuestion) { self.question = question }
    }

    /// Somebody's place among those who wait for an answer.
    package struct Ticket: Sendable {
        /// None when the answer was known.
        fileprivate let inquiry: Inquiry?
        fileprivate let number: UInt64
    }

    private let ask: @Sendable (NameQuestion) -> NameAnswer
    private let mostThreads: Int
    private let idleSeconds: Int
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    /// Those that no thread has begun, first come first served; those behind `queueHead` that nobody waits for any
    /// more are passed over.
    private var queue: [Inquiry] = []
    private var queueHead = 0
    private var droppedCount = 0
    private var inquiries: [NameQuestion: Inquiry] = [:]
    private var memory = AnswerMemory()
    private var lastNumber: UInt64 = 0
    private var threads = 0
    private var idleThreads = 0

    /// - Parameters:
    ///   - mostThreads: How many questions are asked at a time.
    ///   - idleSeconds: How long a thread without a question is kept.
    ///   - ask: Answers a question, taking its time; called on any thread.
    package init(
        mostThreads: Int = 32, idleSeconds: Int = 10, ask: @escaping @Sendable (NameQuestion) -> NameAnswer
    ) {
        self.ask = ask
        self.mostThreads = max(1, mostThreads)
        self.idleSeconds = max(0, idleSeconds)
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
        // Threads hold the resolver, so there are none.
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

    /// Answers on `loop`, once and never before returning, unless the ticket is given back before. `isRemembered` says
    /// that nobody was asked.
    package func resolve(
        _ question: NameQuestion, on loop: EventLoop,
        answer: @escaping @Sendable (_ answer: NameAnswer, _ isRemembered: Bool) -> Void
    ) -> Ticket {
        pthread_mutex_lock(mutex)
        if let known = memory.answer(to: question, at: cll_now()) {
            pthread_mutex_unlock(mutex)
            loop.post { answer(known, true) }
            return Ticket(inquiry: nil, number: 0)
        }
        let inquiry: Inquiry
        if let known = inquiries[question] {
            inquiry = known
        } else {
            inquiry = Inquiry(question)
            inquiries[question] = inquiry
            queue.append(inquiry)
        }
        lastNumber &+= 1
        let ticket = Ticket(inquiry: inquiry, number: lastNumber)
        inquiry.waiting[ticket.number] = { result in loop.post { answer(result, false) } }
        let mustStart = idleThreads < queuedCount && threads < mostThreads
        if mustStart { threads += 1 } else { pthread_cond_signal(condition) }
        pthread_mutex_unlock(mutex)
        if mustStart, !DetachedThread.startIfPossible(named: "url-resolve", { self.answerQuestions() }) {
            threadIsMissing()
        }
        return ticket
    }

    /// The answer is not wanted any more.
    package func withdraw(_ ticket: Ticket) {
        // What is let go of may be the last of much else, so it goes outside the lock.
        let dropped = locked { () -> (@Sendable (NameAnswer) -> Void)? in
            guard let inquiry = ticket.inquiry, let waiting = inquiry.waiting.removeValue(forKey: ticket.number)
            else { return nil }
            if inquiry.waiting.isEmpty, !inquiry.isBegun { drop(inquiry) }
            return waiting
        }
        _ = dropped
    }

    /// Drops what is remembered of a host, since its addresses turned out dead.
    package func forget(_ host: String) { locked { memory.forget(host) } }

    /// Drops all that is remembered: after a flush and when routes change. Answers to what is being asked now count only
    /// for those who wait for them already.
    package func forgetAnswers() {
        locked {
            memory.forgetAll()
            inquiries = inquiries.filter { !$0.value.isBegun }
        }
    }

    /// Questions that no thread has begun, and threads.
    package var queuedQuestionCount: Int { locked { queuedCount } }
    package var threadCount: Int { locked { threads } }

    // MARK: The queue, with the mutex held

    private var queuedCount: Int { queue.count - queueHead - droppedCount }

    private func drop(_ inquiry: Inquiry) {
        inquiries[inquiry.question] = nil
        droppedCount += 1
        guard droppedCount > 32, droppedCount > queuedCount else { return }
        queue = queue[queueHead...].filter { !$0.waiting.isEmpty }
        queueHead = 0
        droppedCount = 0
    }

    private func takeFirst() -> Inquiry? {
        while queueHead < queue.count {
            let inquiry = queue[queueHead]
            queueHead += 1
            if queueHead == queue.count {
                queue = []
                queueHead = 0
            } else if queueHead > 64, queueHead * 2 > queue.count {
                queue.removeFirst(queueHead)
                queueHead = 0
            }
            if !inquiry.waiting.isEmpty {
                inquiry.isBegun = true
                return inquiry
            }
            droppedCount -= 1
        }
        return nil
    }

    // MARK: Threads

    /// Without any thread nobody would ever answer, so whoever waits is told that it cannot be done now.
    private func threadIsMissing() {
        let answers = locked { () -> [@Sendable (NameAnswer) -> Void] in
            threads -= 1
            guard threads == 0 else { return [] }
            var answers: [@Sendable (NameAnswer) -> Void] = []
            while let inquiry = takeFirst() { answers += end(inquiry) }
            return answers
        }
        for answer in answers { answer(.failure(NameFailure(code: EAI_SYSTEM, posixCode: EAGAIN))) }
    }

    private func answerQuestions() {
        while let inquiry = nextInquiry() {
            let answer = ask(inquiry.question)
            let waiting = locked {
                if inquiries[inquiry.question] === inquiry {
                    memory.remember(answer, to: inquiry.question, at: cll_now())
                }
                return end(inquiry)
            }
            for deliver in waiting { deliver(answer) }
        }
    }

    /// With the mutex held: who is to be told, in the order in which they asked.
    private func end(_ inquiry: Inquiry) -> [@Sendable (NameAnswer) -> Void] {
        if inquiries[inquiry.question] === inquiry { inquiries[inquiry.question] = nil }
        defer { inquiry.waiting = [:] }
        return inquiry.waiting.sorted { $0.key < $1.key }.map(\.value)
    }

    /// Waits for a question; nil when there was none for a while, and then the thread ends.
    private func nextInquiry() -> Inquiry? {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        var deadline = timespec()
        clock_gettime(CLOCK_MONOTONIC, &deadline)
        deadline.tv_sec += idleSeconds
        while true {
            if let inquiry = takeFirst() { return inquiry }
            idleThreads += 1
            let outcome = pthread_cond_timedwait(condition, mutex, &deadline)
            idleThreads -= 1
            if outcome == ETIMEDOUT, queuedCount == 0 {
                threads -= 1
                return nil
            }
        }
    }

    // MARK: The system's resolver

    private static func askSystem(_ question: NameQuestion) -> NameAnswer {
        if isLocal(question.host) {
            let address = SocketAddress(literal: question.family == .ipv4 ? "127.0.0.1" : "::1", port: 0)
            return address.map { .success([$0]) } ?? .failure(NameFailure(code: EAI_NONAME))
        }
        var hints = addrinfo()
        hints.ai_family = question.family == .ipv4 ? AF_INET : AF_INET6
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(question.host, nil, &hints, &list)
        let posixCode = cll_errno()
        guard code == 0 else {
            return .failure(NameFailure(code: code, posixCode: code == EAI_SYSTEM ? posixCode : 0))
        }
        defer { freeaddrinfo(list) }
        var addresses: [SocketAddress] = []
        var entry = list
        while let found = entry {
            entry = found.pointee.ai_next
            guard let bytes = found.pointee.ai_addr else { continue }
            let length = Int(found.pointee.ai_addrlen)
            if let address = SocketAddress(sockaddr: bytes, count: length), !addresses.contains(address) {
                addresses.append(address)
            }
        }
        return addresses.isEmpty ? .failure(NameFailure(code: EAI_NONAME)) : .success(addresses)
    }

    /// Names of this machine itself, which nobody else is asked for (RFC 6761 §6.3).
    package static func isLocal(_ host: String) -> Bool {
        let name = host.hasSuffix(".") ? host.dropLast() : host[...]
        return name == "localhost" || name.hasSuffix(".localhost")
    }
}
