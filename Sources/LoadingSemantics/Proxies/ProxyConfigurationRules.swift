/// One of the session's `proxyConfigurations`: a proxy, and the hosts it is for (PROXY-7).
package struct ProxyConfigurationRules: Sendable, Equatable {
    /// Nil if the endpoint can be no proxy: what would go through it goes nowhere.
    package var server: ProxyServer?
    /// Whether to go on without the proxy when it cannot be reached.
    package var allowsFailover: Bool
    /// With all below them; empty for all.
    package var matchDomains: [String]
    /// With all below them. They win.
    package var excludedDomains: [String]

    package init(
        server: ProxyServer?, allowsFailover: Bool = false, matchDomains: [String] = [], excludedDomains: [String] = []
    ) {
        self.server = server
        self.allowsFailover = allowsFailover
        self.matchDomains = matchDomains
        self.excludedDomains = excludedDomains
    }

    /// This machine itself has to be named (PROXY-9).
    func matches(_ destination: ProxyDestination) -> Bool {
        if contains(destination, excludedDomains) { return false }
        if matchDomains.isEmpty { return !destination.isLoopback }
        return contains(destination, matchDomains)
    }

    private func contains(_ destination: ProxyDestination, _ domains: [String]) -> Bool {
        domains.contains { domain in
            let name = domain.hasPrefix("*.") ? domain.dropFirst() : domain[...]
            return ProxyExclusion(name, names: .domains)?.matches(destination) ?? false
        }
    }

    /// The ways of all that match, in order: each of them goes on to the next only if it may.
    static func route(_ rules: [ProxyConfigurationRules], for destination: ProxyDestination) -> ProxyRoute {
        var ways: [ProxyRoute.Way] = []
        for rule in rules where rule.matches(destination) {
            if let server = rule.server { ways.append(.through(server)) }
            if !rule.allowsFailover { return ProxyRoute(ways) }
        }
        return ProxyRoute(ways + [.direct])
    }
}
