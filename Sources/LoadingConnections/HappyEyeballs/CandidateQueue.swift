internal import LoadingTransport

/// Addresses that have not been tried. Each family is in the resolver's order. The families alternate, IPv6 first
/// (RFC 8305 §4). Those to avoid come after all others.
struct CandidateQueue: Sendable {
    private var ipv6: [SocketAddress] = []
    private var ipv4: [SocketAddress] = []
    private var last: [SocketAddress] = []
    private let avoided: Set<SocketAddress>
    /// Few, so that an array costs less than a set.
    private var known: [SocketAddress] = []
    private var lastFamily: SocketAddress.Family?

    init(avoiding avoided: Set<SocketAddress>) { self.avoided = avoided }

    var isEmpty: Bool { ipv6.isEmpty && ipv4.isEmpty && last.isEmpty }
    /// Whether there are only addresses to avoid.
    var hasOnlyAvoided: Bool { ipv6.isEmpty && ipv4.isEmpty && !last.isEmpty }
    var hasIPv6: Bool { !ipv6.isEmpty }

    /// Adds each address once, up to the maximum for its family.
    mutating func add(_ addresses: [SocketAddress]) {
        for address in addresses {
            let count = known.count { $0.family == address.family }
            guard count < HappyEyeballs.maximumAddressesPerFamily, !known.contains(address) else { continue }
            known.append(address)
            switch address.family {
            case _ where avoided.contains(address): last.append(address)
            case .ipv6: ipv6.append(address)
            case .ipv4: ipv4.append(address)
            }
        }
    }

    /// Forgets what was added, so that as many may be added again. The families go on to alternate.
    mutating func reset() {
        (ipv6, ipv4, last) = ([], [], [])
        known = []
    }

    mutating func next() -> SocketAddress? {
        if hasOnlyAvoided { return last.removeFirst() }
        let prefersIPv4 = lastFamily == .ipv6
        let takesIPv4 = prefersIPv4 ? !ipv4.isEmpty : ipv6.isEmpty
        if takesIPv4 {
            if ipv4.isEmpty { return nil }
            lastFamily = .ipv4
            return ipv4.removeFirst()
        }
        if ipv6.isEmpty { return nil }
        lastFamily = .ipv6
        return ipv6.removeFirst()
    }
}
