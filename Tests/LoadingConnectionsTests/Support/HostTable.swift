import LoadingConnections
import LoadingTransport
import TestSupport

/// The names that a resolver under test knows, and how long it takes to answer.
final class HostTable: Sendable {
    /// Each question, when it was begun.
    let asked = EventRecorder<AddressQuery>()
    private let answers: Watched<[AddressQuery: AddressAnswer]>
    private let held = Watched<Set<AddressQuery>>([])

    /// With addresses in digits, by host.
    init(_ addresses: [String: [String]] = [:]) {
        answers = Watched([:])
        for (host, list) in addresses { set(host, list) }
    }

    func set(_ host: String, _ addresses: [String]) {
        let found = addresses.compactMap { SocketAddress(literal: $0, port: 0) }
        for family in [SocketAddress.Family.ipv4, .ipv6] {
            let some = found.filter { $0.family == family }
            set(AddressQuery(host, family), some.isEmpty ? .failure(.unknownName) : .success(some))
        }
    }

    func set(_ question: AddressQuery, _ answer: AddressAnswer) { answers.withValue { $0[question] = answer } }

    /// Keeps the answers about a host back until they are released.
    func hold(_ host: String, _ families: [SocketAddress.Family] = [.ipv4, .ipv6]) {
        held.withValue { $0.formUnion(families.map { AddressQuery(host, $0) }) }
    }

    func release(_ host: String) { held.withValue { held in held = held.filter { $0.host != host } } }
    func releaseAll() { held.withValue { $0 = [] } }

    func answer(_ question: AddressQuery) -> AddressAnswer {
        asked.record(question)
        try? held.wait(for: "the release of \(question.host)", within: .seconds(60)) {
            $0.contains(question) ? nil : ()
        }
        return answers.current[question] ?? .failure(.unknownName)
    }

    func resolver(mostThreads: Int = 32, idleSeconds: Int = 1) -> NameResolver {
        NameResolver(mostThreads: mostThreads, idleSeconds: idleSeconds) { self.answer($0) }
    }
}

extension NameFailure {
    /// EAI_NONAME.
    static let unknownName = NameFailure(code: -2)
    /// EAI_AGAIN.
    static let tryAgain = NameFailure(code: -3)
}
