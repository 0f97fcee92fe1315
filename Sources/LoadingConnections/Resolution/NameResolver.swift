internal import CLoadingLinux
internal import Glibc
internal import LoadingEvents
package import LoadingTransport

/// Resolves host names with the system's resolver (hosts file, DNS, mDNS: whatever the machine is set up for) on
/// threads of its own, since `getaddrinfo` blocks.
///
/// The families are asked for one by one, so that a slow AAAA answer never holds up a quick A answer (RFC 8305 §3).
/// Questions that are asked while the same one is under way share its answer, and answers are remembered for a short
/// while, as a browser does.
package final class NameResolver: @unchecked Sendable {
    // Sendable because everything mutable is guarded by `mutex`.

    package static let shared = NameResolver()

    /// A code of `getaddrinfo`, and the errno when that code says EAI_SYSTEM.
    package struct Failure: Error, Hashable, Sendable {
        package let code: Int32
        package let posixCode: Int32

        package init(code: Int32, posixCode: Int32) {
            self.code = code
            self.posixCode = posixCode
        }

        /// The server could not be asked now; the name may well exist.
        package var isTemporary: Bool { code == EAI_AGAIN || code == EAI_SYSTEM }
        package var text: String { String(cString: gai_strerror(code)) }
    }

    package typealias Answer = Result<[SocketAddress], Failure>

    private struct Question: Hashable {
        let host: String
        let family: SocketAddress.Family
    }

    private static let lifetime: Int64 = 30_000_000_000
    private static let mostThreads = 8
    private static let mostAnswers = 512

    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var queue: [Question] = []
    private var asking: [Question: [@Sendable (Answer) -> Void]] = [:]
    private var answers: [Question: (addresses: [SocketAddress], expiry: Int64)] = [:]
    private var threadCount = 0
    private var idleThreadCount = 0

    private init() {
        mutex = .allocate(capacity: 1)
        condition = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    /// Answers on `loop`, never before returning. Addresses carry port 0.
    package func resolve(
        _ host: String, _ family: SocketAddress.Family, on loop: EventLoop, answer: @escaping @Sendable (Answer) -> Void
    ) {
        let question = Question(host: host, family: family)
        let deliver: @Sendable (Answer) -> Void = { result in loop.post { answer(result) } }
        pthread_mutex_lock(mutex)
        if let known = answers[question], known.expiry > cll_now() {
            pthread_mutex_unlock(mutex)
            return deliver(.success(known.addresses))
        }
        if asking[question] != nil {
            asking[question]?.append(deliver)
            pthread_mutex_unlock(mutex)
            return
        }
        asking[question] = [deliver]
        queue.append(question)
        let mustStart = idleThreadCount < queue.count && threadCount < Self.mostThreads
        if mustStart { threadCount += 1 } else { pthread_cond_signal(condition) }
        pthread_mutex_unlock(mutex)
        if mustStart { LoopThread.start(named: "url-resolve") { self.answerQuestions() } }
    }

    /// Drops what is remembered: after a flush, when routes change, and when a remembered address turned out dead.
    package func forgetAnswers() {
        pthread_mutex_lock(mutex)
        answers = [:]
        pthread_mutex_unlock(mutex)
    }

    private func answerQuestions() {
        while let question = nextQuestion() {
            let answer = ask(question)
            pthread_mutex_lock(mutex)
            let waiting = asking.removeValue(forKey: question) ?? []
            if case .success(let addresses) = answer {
                if answers.count >= Self.mostAnswers { answers = [:] }
                answers[question] = (addresses, cll_now() + Self.lifetime)
            }
            pthread_mutex_unlock(mutex)
            for deliver in waiting { deliver(answer) }
        }
    }

    /// Waits for a question; nil when there was none for ten seconds, and then the thread ends.
    private func nextQuestion() -> Question? {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        var deadline = timespec()
        clock_gettime(CLOCK_MONOTONIC, &deadline)
        deadline.tv_sec += 10
        while queue.isEmpty {
            idleThreadCount += 1
            let outcome = pthread_cond_timedwait(condition, mutex, &deadline)
            idleThreadCount -= 1
            if outcome == ETIMEDOUT, queue.isEmpty {
                threadCount -= 1
                return nil
            }
        }
        return queue.removeFirst()
    }

    private func ask(_ question: Question) -> Answer {
        var hints = addrinfo()
        hints.ai_family = question.family == .ipv4 ? AF_INET : AF_INET6
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(question.host, nil, &hints, &list)
        let posixCode = cll_errno()
        guard code == 0 else {
            return .failure(Failure(code: code, posixCode: code == EAI_SYSTEM ? posixCode : 0))
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
        return addresses.isEmpty
            ? .failure(Failure(code: EAI_NONAME, posixCode: 0)) : .success(addresses)
    }
}
