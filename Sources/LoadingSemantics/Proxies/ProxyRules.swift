/// Which proxies a session uses for what. Every source of settings ends here.
package struct ProxyRules: Sendable, Equatable {
    private enum Source: Sendable, Equatable {
        case configurations([ProxyConfigurationRules])
        case dictionary(ProxyDictionary)
        case environment(ProxyEnvironment)
    }

    private let source: Source

    /// Configurations supersede the dictionary, and that the settings of the system (C-17, C-18).
    package init(
        configurations: [ProxyConfigurationRules] = [], dictionary: ProxyDictionary? = nil, system: ProxyEnvironment
    ) {
        if !configurations.isEmpty {
            source = .configurations(configurations)
        } else if let dictionary {
            source = .dictionary(dictionary)
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
        }
    }

    /// The script that has to be asked before the route can be told, if there is one.
    package func script(for destination: ProxyDestination) -> ProxyScript? {
        if case .dictionary(let dictionary) = source { dictionary.script(for: destination) } else { nil }
    }

    /// - Parameter answer: What the script has said; nil where there is none, or none that could be asked.
    package func route(for destination: ProxyDestination, answer: PACResult? = nil) -> ProxyRoute {
        switch source {
        case .configurations(let rules): ProxyConfigurationRules.route(rules, for: destination)
        case .dictionary(let dictionary): dictionary.route(for: destination, answer: answer)
        case .environment(let environment): environment.route(for: destination)
        }
    }
}
