/// One of the session's `proxyConfigurations`: a proxy, and the hosts it is for (PROXY-7).
package struct ProxyConfigurationRules: Sendable, Equatable {
    private let server: ProxyServer?
    private let allowsFailover: Bool
    /// Nil for every host.
    private let matches: [ProxyExclusion]?
    private let excluded: [ProxyExclusion]

    /// - Parameters:
    ///   - server: Nil if the endpoint can be no proxy: what would go through it goes nowhere.
    ///   - allowsFailover: Whether to go on without the proxy when it cannot be reached.
    ///   - matchDomains: With all below them; empty for every host but this machine itself. Of some that there cannot be nobody
    ///     can tell which were meant: then no host is gone to.
    ///   - excludedDomains: With all below them. They win.
    package init(
        server: ProxyServer?, allowsFailover: Bool = false, matchDomains: [String] = [], excludedDomains: [String] = []
    ) {
        let known = matchDomains.compactMap(Self.entry)
        self.server = known.isEmpty && !matchDomains.isEmpty ? nil : server
        self.allowsFailover = allowsFailover
        matches = known.isEmpty ? nil : known
        excluded = excludedDomains.compactMap(Self.entry)
    }

    private static func entry(_ domain: String) -> ProxyExclusion? {
        ProxyExclusion(domain.hasPrefix("*.") ? domain.dropFirst() : domain[...], names: .domains)
    }

    private func isFor(_ destination: ProxyDestination) -> Bool {
        if excluded.contains(where: { $0.matches(destination) }) { return false }
        // This machine itself has to be named (PROXY-9).
        guard let matches else { return !destination.isLoopback }
        return matches.contains { $0.matches(destination) }
    }

    /// The routes of all that are for the destination, in order: each goes on to the next only if it may.
    static func route(_ rules: [ProxyConfigurationRules], for destination: ProxyDestination) -> ProxyRouteList {
        var routes: [ProxyRoute] = []
        for rule in rules where rule.isFor(destination) {
            if let server = rule.server { routes.append(.through(server)) }
            if !rule.allowsFailover { return ProxyRouteList(routes) }
        }
        return ProxyRouteList(routes + [.direct])
    }
}
