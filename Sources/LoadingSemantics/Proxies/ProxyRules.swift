/// The proxy settings of a session, from whatever source.
package struct ProxyRules: Sendable, Equatable {
    private enum Source: Sendable, Equatable {
        case configurations([ProxyConfigurationRules])
        case dictionary(ProxyDictionary)
        case environment(ProxyEnvironment)
        case desktop
    }

    private let source: Source

    /// Configurations take precedence over the dictionary, and that over the system settings (C-17, C-18). Of those,
    /// the environment takes precedence over the desktop (PROXY-8).
    ///
    /// - Parameter knowsDesktop: Whether the settings of the desktop can be queried.
    package init(
        configurations: [ProxyConfigurationRules] = [], dictionary: ProxyDictionary? = nil, system: ProxyEnvironment,
        knowsDesktop: @autoclosure () -> Bool = false
    ) {
        if !configurations.isEmpty {
            source = .configurations(configurations)
        } else if let dictionary {
            source = .dictionary(dictionary)
        } else if system.isEmpty, knowsDesktop() {
            source = .desktop
        } else {
            source = .environment(system)
        }
    }

    /// Whether no destination uses a proxy.
    package var isEmpty: Bool {
        switch source {
        case .configurations: false
        case .dictionary(let dictionary): dictionary.isEmpty
        case .environment(let environment): environment.isEmpty
        case .desktop: false
        }
    }

    /// The external source that must be queried before `route`; nil if none.
    package func externalSource(for destination: ProxyDestination) -> ExternalProxySource? {
        switch source {
        case .configurations, .environment: nil
        case .dictionary(let dictionary): dictionary.script(for: destination).map { .script($0) }
        // PROXY-9
        case .desktop: destination.isLoopback ? nil : .desktop
        }
    }

    /// - Parameter answer: The answer of the external source; nil if there is no source or no answer.
    package func route(for destination: ProxyDestination, answer: ProxyRouteList? = nil) -> ProxyRouteList {
        switch source {
        case .configurations(let rules): ProxyConfigurationRules.route(rules, for: destination)
        case .dictionary(let dictionary): dictionary.route(for: destination, answer: answer)
        case .environment(let environment): environment.route(for: destination)
        case .desktop: answer ?? .direct
        }
    }
}
