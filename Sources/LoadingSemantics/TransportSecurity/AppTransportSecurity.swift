/// App Transport Security: what a program wants of its own connections, in the words of its `NSAppTransportSecurity`
/// dictionary (TLS-1 to TLS-3).
///
/// What cannot be understood counts as not there, and is complained about. Where that would let more through than was
/// meant, it counts as the strictest that it can be: settings and exceptions that are no dictionary lift nothing, pins
/// that nobody can read are met by nobody, and of whom they are is then nobody's guess.
package struct AppTransportSecurity: Sendable, Equatable {
    /// What is to become of a load.
    package enum Decision: Sendable, Equatable {
        case allowed
        /// −1022.
        case denied
        /// It goes over a secure connection, which has to be like that.
        case requirements(TransportSecurityRequirements)
    }

    package let issues: [TransportSecurityIssue]
    /// Whether anything is asked at all.
    package let isOn: Bool
    private let allowsArbitraryLoads: Bool
    private let allowsLocalNetworking: Bool
    private let exceptions: TransportSecurityDomains<TransportSecurityException>
    private let pins: TransportSecurityDomains<ServerPins>
    /// Whether some domain is pinned, and nobody can read which.
    private let hasUnreadablePins: Bool

    /// Everything goes.
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

    /// What a program's information dictionary (`Info.plist`) says: off, unless it has the key (TLS-3).
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

    /// On, with the settings of an `NSAppTransportSecurity` dictionary.
    package init(_ settings: [String: PropertyListValue]) {
        self.init(PropertyListReader(settings))
    }

    private init(_ settings: PropertyListReader) {
        var reader = settings
        // What is said more precisely takes the place of this, whatever it says.
        let isPrecise = Self.preciseKeys.contains(where: reader.contains)
        let allowsArbitraryLoads = reader.boolean("NSAllowsArbitraryLoads") ?? false
        allowsLocalNetworking = reader.boolean("NSAllowsLocalNetworking") ?? false
        // There are no web views and no media players here.
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

    /// What secure connections to a host have to be like; nil if they need to be like nothing in particular.
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

    /// Whether nothing is asked of a host that is not named.
    private func isExempt(_ host: String) -> Bool {
        allowsArbitraryLoads || allowsLocalNetworking && Self.isLocal(host)
    }

    /// Whether a host is one of those that `NSAllowsLocalNetworking` is about: a name of one label, one below `local`,
    /// an IP address.
    private static func isLocal(_ host: String) -> Bool {
        !host.utf8.contains(UInt8(ascii: ".")) || CookieDomain.isAddress(host)
            || CookieDomain.matches(host: host, domain: "local") || CookieDomain.matches(host: host, domain: "local.")
    }

    private static let preciseKeys = [
        "NSAllowsArbitraryLoadsForMedia", "NSAllowsArbitraryLoadsInWebContent", "NSAllowsLocalNetworking",
    ]

    private struct Domains<Setting: Sendable & Equatable> {
        var domains = TransportSecurityDomains<Setting>()
        /// There is something that is no dictionary.
        var isUnreadable = false
        var hasUnreadableKeys = false
    }

    /// - Parameters:
    ///   - unreadable: What a domain has whose settings are no dictionary. It is meant to have some.
    ///   - doubtful: What subdomains have of which nobody can read whether they are meant too.
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
                // The reader has complained.
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
