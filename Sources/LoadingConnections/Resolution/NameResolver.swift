internal import CLoadingLinux
internal import Glibc
internal import LoadingSemantics
package import LoadingTransport
internal import Synchronization

/// Resolves host names with the system's resolver (hosts file, DNS, mDNS: whatever the machine is set up for), and asks
/// name servers which services an origin has.
///
/// The families are asked for one by one, so that a slow AAAA answer never holds up a quick A answer (RFC 8305 §3), and
/// services in a line of their own, since a server that does not know that question may never answer it.
///
/// Each session has one, which remembers what that session was told; the threads that ask are the process's.
package final class NameResolver: Sendable {
    /// What asks, for everybody.
    private final class Lines: Sendable {
        static let system = Lines(mostThreads: 32, idleSeconds: TimeLimits.standard.resolverThreadIdle, ask: askSystem)
        { HTTPSRecordLookup($0).answer() }

        let addresses: InFlightQueries<AddressCache>
        let services: InFlightQueries<HTTPSRecordCache>

        init(
            mostThreads: Int, idleSeconds: Int, ask: @escaping @Sendable (AddressQuery) -> AddressAnswer,
            askForServices: @escaping @Sendable (HTTPSRecordQuery) -> HTTPSRecordAnswer
        ) {
            let unavailable = NameFailure(code: EAI_SYSTEM, posixCode: EAGAIN)
            addresses = InFlightQueries(
                mostThreads: mostThreads, idleSeconds: idleSeconds, unavailable: .failure(unavailable), ask: ask)
            services = InFlightQueries(
                mostThreads: min(mostThreads, mostServiceThreads), idleSeconds: idleSeconds,
                unavailable: .failure(unavailable), ask: askForServices)
        }
    }

    /// Identifies one request for an answer.
    package struct Ticket: Sendable {
        fileprivate enum Place: Sendable {
            case address(InFlightQueries<AddressCache>.Ticket)
            case service(InFlightQueries<HTTPSRecordCache>.Ticket)
        }
        fileprivate let place: Place
    }

    private let lines: Lines
    /// Which of those who ask there this is.
    private let number: UInt64
    private static let lastNumber = Atomic<UInt64>(0)

    /// How many are asked about services at a time.
    private static let mostServiceThreads = 8

    /// Asks the system, on threads that all of these share.
    package convenience init() { self.init(.system) }

    /// Uses other resolvers, on threads of its own.
    ///
    /// - Parameters:
    ///   - mostThreads: How many questions about addresses are asked at a time.
    ///   - idleSeconds: How long a thread without a question is kept.
    ///   - ask: Answers a question, taking its time; called on any thread.
    ///   - askForServices: The same for services.
    package convenience init(
        mostThreads: Int = 32, idleSeconds: Int = TimeLimits.standard.resolverThreadIdle,
        ask: @escaping @Sendable (AddressQuery) -> AddressAnswer,
        askForServices: @escaping @Sendable (HTTPSRecordQuery) -> HTTPSRecordAnswer = { _ in .success(.none) }
    ) {
        self.init(Lines(mostThreads: mostThreads, idleSeconds: idleSeconds, ask: ask, askForServices: askForServices))
    }

    private init(_ lines: Lines) {
        self.lines = lines
        number = Self.lastNumber.add(1, ordering: .relaxed).newValue
    }

    deinit {
        lines.addresses.removeClient(number)
        lines.services.removeClient(number)
    }

    // MARK: From loops

    /// Answers on `loop`, once and never before returning, unless the ticket is given back before. `isRemembered` says
    /// that nobody was asked.
    package func resolve(
        _ question: AddressQuery, on loop: EventLoop,
        answer: @escaping @Sendable (_ answer: AddressAnswer, _ isRemembered: Bool) -> Void
    ) -> Ticket {
        Ticket(place: .address(lines.addresses.ask(question, by: number, on: loop, answer: answer)))
    }

    /// The same for services. Nil, and no answer, for an origin that no name server is asked about.
    package func findServices(
        _ question: HTTPSRecordQuery, on loop: EventLoop,
        answer: @escaping @Sendable (_ answer: HTTPSRecordAnswer, _ isRemembered: Bool) -> Void
    ) -> Ticket? {
        guard question.mayBeAsked else { return nil }
        return Ticket(place: .service(lines.services.ask(question, by: number, on: loop, answer: answer)))
    }

    /// The answer is not wanted any more.
    package func withdraw(_ ticket: Ticket) {
        switch ticket.place {
        case .address(let ticket): lines.addresses.withdraw(ticket)
        case .service(let ticket): lines.services.withdraw(ticket)
        }
    }

    /// Drops what is remembered of a host, since its addresses turned out dead.
    package func forget(_ host: String) {
        lines.addresses.forget(host, by: number)
        lines.services.forget(host, by: number)
    }

    /// Drops all that is remembered, after a flush. Answers to what is being asked now count only for those who wait for them
    /// already.
    package func forgetAnswers() {
        lines.addresses.forgetAnswers(by: number)
        lines.services.forgetAnswers(by: number)
    }

    /// The same for all who ask the system: its routes have changed.
    static func forgetAllAnswers() {
        Lines.system.addresses.forgetAnswers()
        Lines.system.services.forgetAnswers()
    }

    /// Questions that no thread has begun, and threads.
    package var queuedQuestionCount: Int { lines.addresses.queuedQuestionCount + lines.services.queuedQuestionCount }
    package var threadCount: Int { lines.addresses.threadCount + lines.services.threadCount }

    // MARK: The system's resolver

    /// Takes its time.
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

    /// Names of this machine itself, for which no name server is queried (RFC 6761 §6.3).
    package static func isLocal(_ host: String) -> Bool {
        let name = host.hasSuffix(".") ? host.dropLast() : host[...]
        return name == "localhost" || name.hasSuffix(".localhost")
    }

    /// Whether a host is an address, or a name of this machine itself.
    package static func needsNoNameServer(_ host: String) -> Bool {
        SocketAddress(literal: host, port: 0) != nil || isLocal(host)
    }
}
