/// Which proxies a session uses for what. Every source of settings ends here.
package struct ProxyRules: Sendable, Equatable {
    private enum Source: Sendable, Equatable {
        case configurations([ProxyConfigurationRules])
        case dictionary(ProxyDictionary)
        case environment(ProxyEnvironment)
        case desktop
    }

    private let source: Source

    /// Configurations supersede the dictionary, and that the settings of the system (C-17, C-18). Of those the environment
    /// comes before the desktop (PROXY-8).
    ///
    /// - Parameter knowsDesktop: Whether there is somebody to ask for the desktop's.
    package init(
        configurations: [ProxyConfigurationRules] = [], dictionary: ProxyDictionary? = nil, system: ProxyEnvironment,
        knowsDesktop: @autoclosure () -> Bool = false
    ) {
        if !configurations.isEmpty {
            source = .configurations(configurations)
        } else if let dictionary {
            source = .dictionary(dictionary)
        } else if system.namesNone, knowsDesktop() {
            source = .desktop
        } else {
            source = .environment(system)
        }
    }

    /// Whether nothing goes through a proxy, so that nobody has to ask.
    package var areEmpty: Bool {
        switch source {
        case .configurations: false
        case .dictionary(let dictionary): dictionary.namesNone
        case .environment(let environment): environment.namesNone
        case .desktop: false
        }
    }

    /// Who has to be asked before the route can be told, if anybody has.
    package func externalSource(for destination: ProxyDestination) -> ExternalProxySource? {
        switch source {
        case .configurations, .environment: nil
        case .dictionary(let dictionary): dictionary.script(for: destination).map { .script($0) }
        // PROXY-9
        case .desktop: destination.isLoopback ? nil : .desktop
        }
    }

    /// - Parameter answer: What the adviser has said; nil where there is none, or none that could be asked.
    package func route(for destination: ProxyDestination, answer: ProxyRouteList? = nil) -> ProxyRouteList {
        switch source {
        case .configurations(let rules): ProxyConfigurationRules.route(rules, for: destination)
        case .dictionary(let dictionary): dictionary.route(for: destination, answer: answer)
        case .environment(let environment): environment.route(for: destination)
        case .desktop: answer ?? .direct
        }
    }
}
