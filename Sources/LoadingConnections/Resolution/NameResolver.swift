internal import CLoadingLinux
internal import Glibc
package import LoadingTransport

/// Resolves host names with the system's resolver (hosts file, DNS, mDNS: whatever the machine is set up for), and asks
/// name servers which services an origin has.
///
/// The families are asked for one by one, so that a slow AAAA answer never holds up a quick A answer (RFC 8305 §3), and
/// services in a line of their own, since a server that does not know that question may never answer it.
package final class NameResolver: Sendable {
    package static let shared = NameResolver(ask: askSystem, askForServices: { ServiceQuery($0).answer() })

    /// Somebody's place among those who wait for an answer.
    package struct Ticket: Sendable {
        fileprivate enum Place: Sendable {
            case address(AnswerLine<AnswerMemory>.Ticket)
            case service(AnswerLine<ServiceMemory>.Ticket)
        }
        fileprivate let place: Place
    }

    private let addresses: AnswerLine<AnswerMemory>
    private let services: AnswerLine<ServiceMemory>

    /// How many are asked about services at a time.
    private static let mostServiceThreads = 8

    /// - Parameters:
    ///   - mostThreads: How many questions about addresses are asked at a time.
    ///   - idleSeconds: How long a thread without a question is kept.
    ///   - ask: Answers a question, taking its time; called on any thread.
    ///   - askForServices: The same for services.
    package init(
        mostThreads: Int = 32, idleSeconds: Int = 10, ask: @escaping @Sendable (NameQuestion) -> NameAnswer,
        askForServices: @escaping @Sendable (ServiceQuestion) -> ServiceAnswer = { _ in .success(.none) }
    ) {
        let unavailable = NameFailure(code: EAI_SYSTEM, posixCode: EAGAIN)
        addresses = AnswerLine(
            mostThreads: mostThreads, idleSeconds: idleSeconds, unavailable: .failure(unavailable), ask: ask)
        services = AnswerLine(
            mostThreads: min(mostThreads, Self.mostServiceThreads), idleSeconds: idleSeconds,
            unavailable: .failure(unavailable), ask: askForServices)
    }

    // MARK: From loops

    /// Answers on `loop`, once and never before returning, unless the ticket is given back before. `isRemembered` says
    /// that nobody was asked.
    package func resolve(
        _ question: NameQuestion, on loop: EventLoop,
        answer: @escaping @Sendable (_ answer: NameAnswer, _ isRemembered: Bool) -> Void
    ) -> Ticket {
        Ticket(place: .address(addresses.ask(question, on: loop, answer: answer)))
    }

    /// The same for services. Nil, and no answer, for an origin that no name server is asked about.
    package func findServices(
        _ question: ServiceQuestion, on loop: EventLoop,
        answer: @escaping @Sendable (_ answer: ServiceAnswer, _ isRemembered: Bool) -> Void
    ) -> Ticket? {
        guard question.mayBeAsked else { return nil }
        return Ticket(place: .service(services.ask(question, on: loop, answer: answer)))
    }

    /// The answer is not wanted any more.
    package func withdraw(_ ticket: Ticket) {
        switch ticket.place {
        case .address(let ticket): addresses.withdraw(ticket)
        case .service(let ticket): services.withdraw(ticket)
        }
    }

    /// Drops what is remembered of a host, since its addresses turned out dead.
    package func forget(_ host: String) {
        addresses.forget(host)
        services.forget(host)
    }

    /// Drops all that is remembered: after a flush and when routes change. Answers to what is being asked now count only
    /// for those who wait for them already.
    package func forgetAnswers() {
        addresses.forgetAnswers()
        services.forgetAnswers()
    }

    /// Questions that no thread has begun, and threads.
    package var queuedQuestionCount: Int { addresses.queuedQuestionCount + services.queuedQuestionCount }
    package var threadCount: Int { addresses.threadCount + services.threadCount }

    // MARK: The system's resolver

    /// Takes its time.
    static func askSystem(_ question: NameQuestion) -> NameAnswer {
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

    /// Whether a host is an address, or this machine by a name that nobody else is asked for.
    package static func needsNoNameServer(_ host: String) -> Bool {
        SocketAddress(literal: host, port: 0) != nil || isLocal(host)
    }
}
