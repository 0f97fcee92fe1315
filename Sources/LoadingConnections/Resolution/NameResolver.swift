internal import CLoadingLinux
internal import Glibc
internal import LoadingEvents
internal import LoadingSemantics
package import LoadingTransport
internal import Synchronization

/// Resolves host names with the system's resolver (hosts file, DNS, mDNS, as the machine is configured), and queries
/// name servers for the services of an origin.
///
/// The address families are resolved separately, so that a slow AAAA answer does not delay a fast A answer
/// (RFC 8305 §3). Services have a queue of their own, because a server that does not support such queries may never
/// answer them.
///
/// Each session has one resolver with its own cache; the threads are shared by the process.
package final class NameResolver: Sendable {
    /// The queries of all resolvers.
    private final class Queues: Sendable {
        static let system = Queues(mostThreads: 32, idleSeconds: TimeLimits.standard.resolverThreadIdle, ask: askSystem)
        { HTTPSRecordLookup($0).answer() }

        let addresses: InFlightQueries<AddressCache>
        let services: InFlightQueries<HTTPSRecordCache>

        init(
            mostThreads: Int, idleSeconds: Int, ask: @escaping @Sendable (AddressQuery) -> AddressAnswer,
            askForServices: @escaping @Sendable (HTTPSRecordQuery) -> HTTPSRecordAnswer
        ) {
            let unavailable = NameFailure(code: EAI_SYSTEM, posixCode: EAGAIN)
            addresses = AddressCache.queries(
                mostThreads: mostThreads, idleSeconds: idleSeconds, unavailable: .failure(unavailable), ask: ask)
            services = HTTPSRecordCache.queries(
                mostThreads: min(mostThreads, mostServiceThreads), idleSeconds: idleSeconds,
                unavailable: .failure(unavailable), ask: askForServices)
        }
    }

    /// Nil for the system's resolver.
    private let ownQueues: Queues?
    /// Whether anything was asked or stored. Many programs connect to addresses only, and pay nothing for names.
    private let isUsed = Atomic<Bool>(false)
    /// The client number of this resolver.
    private let number: UInt64
    private static let lastNumber = Atomic<UInt64>(0)

    /// The maximum number of concurrent queries for services.
    private static let mostServiceThreads = 8

    /// Uses the system's resolver, on threads that all such instances share.
    package convenience init() { self.init(nil) }

    /// Uses other resolvers, on its own threads.
    ///
    /// - Parameters:
    ///   - mostThreads: The maximum number of concurrent address queries.
    ///   - idleSeconds: How long an idle thread is kept.
    ///   - ask: Runs a query. It may block; called on any thread.
    ///   - askForServices: The same for services.
    package convenience init(
        mostThreads: Int = 32, idleSeconds: Int = TimeLimits.standard.resolverThreadIdle,
        ask: @escaping @Sendable (AddressQuery) -> AddressAnswer,
        askForServices: @escaping @Sendable (HTTPSRecordQuery) -> HTTPSRecordAnswer = { _ in .success(.none) }
    ) {
        self.init(Queues(mostThreads: mostThreads, idleSeconds: idleSeconds, ask: ask, askForServices: askForServices))
    }

    private init(_ ownQueues: Queues?) {
        self.ownQueues = ownQueues
        number = Self.lastNumber.add(1, ordering: .relaxed).newValue
    }

    deinit {
        guard isUsed.load(ordering: .relaxed) else { return }
        queues.addresses.removeClient(number)
        queues.services.removeClient(number)
    }

    private var queues: Queues {
        isUsed.store(true, ordering: .relaxed)
        return ownQueues ?? .system
    }

    // MARK: From loops

    /// Calls `answer` on `loop`, once, never before this returns, and not after the ticket is withdrawn. `isRemembered`
    /// is whether the answer was cached. Without `usesCache` a new answer replaces the cached one.
    func resolve(
        _ question: AddressQuery, on loop: EventLoop, usesCache: Bool = true,
        answer: @escaping @Sendable (_ answer: AddressAnswer, _ isRemembered: Bool) -> Void
    ) -> QueryTicket {
        queues.addresses.ask(question, by: number, on: loop, usesCache: usesCache, answer: answer)
    }

    /// The same for services. Returns nil, and gives no answer, for an origin that must not be queried.
    func findServices(
        _ question: HTTPSRecordQuery, on loop: EventLoop,
        answer: @escaping @Sendable (_ answer: HTTPSRecordAnswer, _ isRemembered: Bool) -> Void
    ) -> QueryTicket? {
        guard question.mayBeAsked else { return nil }
        return queues.services.ask(question, by: number, on: loop, answer: answer)
    }

    /// Caches the addresses of a host that are known from elsewhere, such as the answer about a service.
    package func remember(_ addresses: [SocketAddress], of host: String, on loop: EventLoop) {
        for family in [SocketAddress.Family.ipv4, .ipv6] {
            let own = addresses.filter { $0.family == family }.map { $0.with(port: 0) }
            queues.addresses.remember(
                own.isEmpty ? .failure(NameFailure(code: EAI_NONAME)) : .success(own), to: AddressQuery(host, family),
                by: number, at: loop.clock.now)
        }
    }

    /// Drops what is cached about a host, because its addresses do not answer.
    package func forget(_ host: String) {
        guard isUsed.load(ordering: .relaxed) else { return }
        queues.addresses.forget(host, by: number)
        queues.services.forget(host, by: number)
    }

    /// Drops the whole cache, after a flush. The answers of queries in flight count only for requests that already wait
    /// for them.
    package func forgetAnswers() {
        guard isUsed.load(ordering: .relaxed) else { return }
        queues.addresses.forgetAnswers(by: number)
        queues.services.forgetAnswers(by: number)
    }

    /// The same for all users of the system's resolver: the machine's routes have changed.
    static func forgetAllAnswers() {
        Queues.system.addresses.forgetAnswers()
        Queues.system.services.forgetAnswers()
    }

    /// The number of queries that no thread has started, and the number of threads.
    package var queuedQuestionCount: Int { queues.addresses.queuedQuestionCount + queues.services.queuedQuestionCount }
    package var threadCount: Int { queues.addresses.threadCount + queues.services.threadCount }

    // MARK: The system's resolver

    /// Blocks.
    static func askSystem(_ question: AddressQuery) -> AddressAnswer {
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
            // Without nss-mdns the system's resolver does not use multicast DNS, and Avahi may be there.
            if MulticastLookup.isResponsible(for: question.host), let answer = MulticastLookup.answer(to: question) {
                return answer
            }
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

    /// Names of this machine itself, which are never queried (RFC 6761 §6.3).
    package static func isLocal(_ host: String) -> Bool {
        let name = host.hasSuffix(".") ? host.dropLast() : host[...]
        return name == "localhost" || name.hasSuffix(".localhost")
    }

    /// Whether a host is neither an address nor a name of this machine itself.
    package static func needsNameServer(_ host: String) -> Bool {
        SocketAddress(literal: host, port: 0) == nil && !isLocal(host)
    }
}
