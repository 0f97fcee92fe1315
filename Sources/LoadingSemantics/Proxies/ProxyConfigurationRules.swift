/// One element of the session's `proxyConfigurations`: a proxy and the hosts for which it is used (PROXY-7).
package struct ProxyConfigurationRules: Sendable, Equatable {
    private let server: ProxyServer?
    private let allowsFailover: Bool
    /// Nil means all hosts.
    private let matches: [ProxyExclusion]?
    private let excluded: [ProxyExclusion]

    /// - Parameters:
    ///   - server: Nil if the endpoint is not a valid proxy; then its hosts are unreachable.
    ///   - allowsFailover: Whether the next route is tried if the proxy is unreachable.
    ///   - matchDomains: Domains with their subdomains. Empty means all hosts except the local machine. If entries
    ///     exist but none is valid, no host is reachable, because the intended ones are unknown.
    ///   - excludedDomains: Domains with their subdomains. They take precedence.
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
        // The local machine must be listed explicitly (PROXY-9).
        guard let matches else { return !destination.isLoopback }
        return matches.contains { $0.matches(destination) }
    }

    /// The routes of all rules that match the destination. Each rule continues to the next only with failover.
    static func route(_ rules: [ProxyConfigurationRules], for destination: ProxyDestination) -> ProxyRouteList {
        var routes: [ProxyRoute] = []
        for rule in rules where rule.isFor(destination) {
            if let server = rule.server { routes.append(.through(server)) }
            if !rule.allowsFailover { return ProxyRouteList(routes) }
        }
        return ProxyRouteList(routes + [.direct])
    }
}
