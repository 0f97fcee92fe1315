internal import CLoadingLinux
internal import LoadingSemantics

/// What resolving a service finds.
package enum ResolveEvent: Sendable, Equatable {
    /// All that is known by now. Comes again when more is found or something changes.
    case resolved(ResolvedService)
    /// The last event: the time is over after this was found.
    case finished(ResolvedService)
    /// The last event: nothing was found.
    case failed(DiscoveryFailure)
}

/// Finds the host, port, addresses and TXT record of a service, and follows their changes.
///
/// A resolver of Avahi gives one address of one family, so there is one for each. Without addresses, which is how the
/// TXT record is followed, there is one.
final class ResolveOperation: DiscoveryOperation, @unchecked Sendable {
    // Sendable as its superclass is.

    private struct Resolver {
        let family: Int32
        var path: String?
        /// When it is made again, after the daemon gave up.
        var retry: Int64?
        var failure: DiscoveryFailure?
    }

    private let service: ServiceName
    private let findsAddresses: Bool
    /// Nanoseconds after the first address until the operation ends; nil if it ends by its timeout only.
    private let familyDelay: Int64?
    private var event: ((ResolveEvent) -> Void)?
    private var resolvers: [Resolver]
    private var found: ResolvedService?

    /// Constants of Avahi: any interface, any protocol, and no lookup of addresses.
    private static let any: Int32 = -1
    private static let withoutAddress: UInt32 = 8
    private static let families: [Int32] = [0, 1]
    /// Decision: a host has a few; others in the local network choose how many.
    private static let mostAddresses = 64
    /// Source: the length of a TXT record (RFC 1035 §3.2.1).
    private static let longestText = 65_535

    init(
        _ discovery: ServiceDiscovery, _ service: ServiceName, findsAddresses: Bool, familyDelay: Int64? = nil,
        timeout: Int64?, event: @escaping @Sendable (ResolveEvent) -> Void
    ) {
        self.service = service
        self.findsAddresses = findsAddresses
        self.familyDelay = familyDelay
        self.event = event
        resolvers = (findsAddresses ? Self.families : [Self.any]).map { Resolver(family: $0) }
        super.init(discovery, timeout: timeout)
    }

    override func start() {
        guard service.isValid else { return fail(.invalidArgument) }
        for index in resolvers.indices { makeResolver(index) }
    }

    override func wake(at now: Int64) {
        if let limit, limit <= now { return timeIsOver() }
        for index in resolvers.indices {
            guard let retry = resolvers[index].retry, retry <= now else { continue }
            resolvers[index].retry = nil
            makeResolver(index)
        }
        setDeadline()
    }

    private func timeIsOver() {
        guard let found else { return fail(.timedOut) }
        if !isCancelled { event?(.finished(found)) }
        end()
    }

    /// The earliest of the timeout and the retries.
    private func setDeadline() {
        deadline = (resolvers.compactMap(\.retry) + [limit].compactMap(\.self)).min()
    }

    private func makeResolver(_ index: Int) {
        let arguments: [BusArgument] = [
            .int32(Self.any), .int32(Self.any), .text(service.instance), .text(service.type), .text(service.domain),
            .int32(resolvers[index].family), .uint32(findsAddresses ? 0 : Self.withoutAddress),
        ]
        session?.makeObject("ServiceResolverNew", arguments) { [weak self] in
            self?.received($0, index)
        } completion: { [weak self, session] result in
            switch result {
            case .success(let path):
                guard let self, !self.isEnded else { return session?.freeObject(Self.interface, path) ?? () }
                self.resolvers[index].path = path
            case .failure(let failure): self?.resolverFailed(index, failure)
            }
        }
    }

    private static let interface = "ServiceResolver"

    private func received(_ signal: BusMessage, _ index: Int) {
        switch signal.member {
        case "Found":
            guard let one = Self.service(in: signal.values) else { return resolverFailed(index, .unexpectedReply) }
            add(one)
        case "Failure":
            guard case .text(let name)? = signal.values.first else { return resolverFailed(index, .unexpectedReply) }
            resolverFailed(index, DiscoveryFailure(errorName: name))
        default: break
        }
    }

    private func resolverFailed(_ index: Int, _ failure: DiscoveryFailure) {
        guard !isEnded else { return }
        if let path = resolvers[index].path { session?.freeObject(Self.interface, path) }
        resolvers[index].path = nil
        // The daemon gives up after five seconds; the caller decides how long it takes.
        if failure == .timedOut {
            resolvers[index].retry = cll_now() + TimeLimits.standard.discoveryRetry
            return setDeadline()
        }
        resolvers[index].failure = failure
        guard found == nil, resolvers.allSatisfy({ $0.failure != nil }) else { return }
        fail(failure)
    }

    override func failed(_ failure: DiscoveryFailure) { event?(.failed(failure)) }

    override func release() {
        for path in resolvers.compactMap(\.path) { session?.freeObject(Self.interface, path) }
        event = nil
    }

    private func add(_ one: ResolvedService) {
        var all = found ?? one
        // Another host or port makes the known addresses those of another server.
        if all.host != one.host || all.port != one.port { all.addresses = [] }
        all.host = one.host
        all.port = one.port
        all.text = one.text
        for address in one.addresses where !all.addresses.contains(address) {
            if all.addresses.count < Self.mostAddresses { all.addresses.append(address) }
        }
        guard all != found else { return }
        found = all
        if !isCancelled { event?(.resolved(all)) }
        if let familyDelay, !all.addresses.isEmpty { endSoon(familyDelay, all) }
    }

    /// There is an address. One of each family is enough.
    private func endSoon(_ delay: Int64, _ all: ResolvedService) {
        if Set(all.addresses.map(\.family)).count == Self.families.count { return timeIsOver() }
        limit = min(limit ?? .max, cll_now() + delay)
        setDeadline()
    }

    /// Reads the arguments of `Found`: interface, protocol, name, type, domain, host, family and text of the address,
    /// port, TXT record, flags. Nil for anything else.
    private static func service(in values: [BusValue]) -> ResolvedService? {
        guard values.count == 11, case .int32(let interface) = values[0], case .text(let host) = values[5],
            case .text(let address) = values[7], case .uint16(let port) = values[8],
            case .array(let strings) = values[9]
        else { return nil }
        var text: [[UInt8]] = []
        var length = 0
        for string in strings {
            guard case .bytes(let bytes) = string, bytes.count <= 255 else { return nil }
            length += bytes.count + 1
            guard length <= longestText else { return nil }
            text.append(bytes)
        }
        // Without a lookup of addresses there is none.
        let addresses = SocketAddress(avahi: address, interface: interface)?.with(port: port)
        return ResolvedService(
            host: ServiceName.withoutFinalDot(host), port: port, addresses: addresses.map { [$0] } ?? [], text: text)
    }
}

extension SocketAddress {
    /// An address of Avahi. The interface is the zone of a link-local one.
    init?(avahi text: String, interface: Int32) {
        let isLinkLocal = text.lowercased().hasPrefix("fe80:") && !text.contains("%")
        self.init(literal: isLinkLocal && interface > 0 ? "\(text)%\(interface)" : text, port: 0)
    }
}
