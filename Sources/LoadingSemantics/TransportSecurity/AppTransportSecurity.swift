/// App Transport Security: the requirements of an application for its own connections, from its
/// `NSAppTransportSecurity` dictionary (TLS-1 to TLS-3).
///
/// Invalid values are ignored and reported. Where ignoring would allow more than intended, the strictest interpretation
/// applies: invalid settings and exceptions allow nothing, and no server satisfies invalid pins. If the domain of a pin
/// is invalid, that applies to all domains.
package struct AppTransportSecurity: Sendable, Equatable {
    /// The decision about a load.
    package enum Decision: Sendable, Equatable {
        case allowed
        /// −1022.
        case denied
        /// The load uses a secure connection, which must satisfy these requirements.
        case requirements(TransportSecurityRequirements)
    }

    package let issues: [TransportSecurityIssue]
    /// Whether App Transport Security is enabled.
    package let isOn: Bool
    private let allowsArbitraryLoads: Bool
    private let allowsLocalNetworking: Bool
    private let exceptions: TransportSecurityDomains<TransportSecurityException>
    private let pins: TransportSecurityDomains<ServerPins>
    /// Whether a domain is pinned whose name is invalid.
    private let hasUnreadablePins: Bool

    /// No requirements.
    package static let off = AppTransportSecurity()

    private init() {
        issues = []
        isOn = false
        allowsArbitraryLoads = true
        allowsLocalNetworking = true
        exceptions = TransportSecurityDomains()
        pins = TransportSecurityDomains()
        hasUnreadablePins = false
    }

    /// The settings of an information dictionary (`Info.plist`): off if it has no such key (TLS-3).
    package init(info: [String: PropertyListValue]) {
        let key = "NSAppTransportSecurity"
        guard info[key] != nil else {
            self = .off
            return
        }
        var reader = PropertyListReader(info)
        var settings = reader.dictionary(key) ?? PropertyListReader([:], path: [key])
        settings.take(issuesOf: reader)
        self.init(settings)
    }

    /// Enabled, with the settings of an `NSAppTransportSecurity` dictionary.
    package init(_ settings: [String: PropertyListValue]) {
        self.init(PropertyListReader(settings))
    }

    private init(_ settings: PropertyListReader) {
        var reader = settings
        // If a more specific key is present, `NSAllowsArbitraryLoads` is ignored, whatever the other's value.
        let isPrecise = Self.preciseKeys.contains(where: reader.contains)
        let allowsArbitraryLoads = reader.boolean("NSAllowsArbitraryLoads") ?? false
        allowsLocalNetworking = reader.boolean("NSAllowsLocalNetworking") ?? false
        // Recognized but unused, because there are no web views and media players.
        _ = reader.boolean("NSAllowsArbitraryLoadsInWebContent")
        _ = reader.boolean("NSAllowsArbitraryLoadsForMedia")
        let exceptions = Self.domains(
            "NSExceptionDomains", &reader, TransportSecurityException.init, unreadable: .strictest
        ) { _ in .strictest }
        let pins = Self.domains("NSPinnedDomains", &reader, ServerPins.init, unreadable: .unreadable) { $0 }
        (self.exceptions, self.pins) = (exceptions.domains, pins.domains)
        self.allowsArbitraryLoads = allowsArbitraryLoads && !isPrecise && !exceptions.isUnreadable
        hasUnreadablePins = pins.isUnreadable || pins.hasUnreadableKeys
        reader.finish()
        issues = reader.issues
        isOn = true
    }

    package func decide(_ url: HTTPURL) -> Decision {
        guard isOn else { return .allowed }
        if url.scheme.isSecure { return requirements(on: url.host).map(Decision.requirements) ?? .allowed }
        if let exception = exceptions[url.host] { return exception.allowsInsecureLoads ? .allowed : .denied }
        return isExempt(url.host) ? .allowed : .denied
    }

    /// The requirements for secure connections to a host; nil if there are none.
    ///
    /// - Parameter host: As in `HTTPURL`.
    package func requirements(on host: String) -> TransportSecurityRequirements? {
        guard isOn else { return nil }
        var requirements = exceptions[host]?.requirements ?? (isExempt(host) ? nil : .standard)
        if let pins = pins[host] ?? (hasUnreadablePins ? .unreadable : nil) {
            requirements = requirements ?? TransportSecurityRequirements()
            requirements?.pins = pins
        }
        return requirements
    }

    /// Whether a host without an exception is exempt from all requirements.
    private func isExempt(_ host: String) -> Bool {
        allowsArbitraryLoads || allowsLocalNetworking && Self.isLocal(host)
    }

    /// Whether `NSAllowsLocalNetworking` applies to a host: an unqualified name, a name in `local`, or an IP address.
    private static func isLocal(_ host: String) -> Bool {
        !host.utf8.contains(UInt8(ascii: ".")) || CookieDomain.isAddress(host)
            || CookieDomain.matches(host: host, domain: "local") || CookieDomain.matches(host: host, domain: "local.")
    }

    private static let preciseKeys = [
        "NSAllowsArbitraryLoadsForMedia", "NSAllowsArbitraryLoadsInWebContent", "NSAllowsLocalNetworking",
    ]

    private struct Domains<Setting: Sendable & Equatable> {
        var domains = TransportSecurityDomains<Setting>()
        /// Whether the value is not a dictionary.
        var isUnreadable = false
        var hasUnreadableKeys = false
    }

    /// - Parameters:
    ///   - unreadable: The setting of a domain whose value is not a dictionary.
    ///   - doubtful: Maps the setting of a domain to that of its subdomains, for an invalid `NSIncludesSubdomains`.
    private static func domains<Setting>(
        _ key: String, _ reader: inout PropertyListReader, _ read: (inout PropertyListReader) -> Setting,
        unreadable: Setting, doubtful: (Setting) -> Setting
    ) -> Domains<Setting> {
        var result = Domains<Setting>()
        let isThere = reader.contains(key)
        guard var domains = reader.dictionary(key) else {
            result.isUnreadable = isThere
            return result
        }
        for name in domains.keys {
            guard var entry = domains.dictionary(name) else {
                // `dictionary` has reported the issue.
                if result.domains.add(unreadable, subdomains: unreadable, forKey: name) == .notDomain {
                    result.hasUnreadableKeys = true
                }
                continue
            }
            let saysSubdomains = entry.contains("NSIncludesSubdomains")
            let includesSubdomains = entry.boolean("NSIncludesSubdomains")
            let setting = read(&entry)
            let subdomains =
                switch includesSubdomains {
                case true?: setting
                case false?: nil as Setting?
                case nil: saysSubdomains ? doubtful(setting) : nil
                }
            if let reason = result.domains.add(setting, subdomains: subdomains, forKey: name) {
                entry.report(reason)
                if reason == .notDomain { result.hasUnreadableKeys = true }
            }
            entry.finish()
            domains.take(issuesOf: entry)
        }
        reader.take(issuesOf: domains)
        return result
    }
}
