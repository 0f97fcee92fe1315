/// App Transport Security: what a program wants of its own connections, in the words of its `NSAppTransportSecurity`
/// dictionary (TLS-1 to TLS-3).
///
/// What cannot be understood counts as not there, and is complained about. Where that would let more through than was
/// meant, it does not: settings that are no dictionary are the strictest, and pins that nobody can read are met by
/// nobody.
package struct AppTransportSecurity: Sendable, Equatable {
    /// What is to become of a load.
    package enum Decision: Sendable, Equatable {
        case allowed
        /// −1022.
        case denied
        /// It goes over a secure connection, which has to be like that.
        case demands(TransportSecurityDemands)
    }

    package let complaints: [TransportSecurityComplaint]
    /// Whether anything is asked at all.
    package let isOn: Bool
    private let allowsArbitraryLoads: Bool
    private let allowsLocalNetworking: Bool
    private let exceptions: TransportSecurityDomains<TransportSecurityException>
    private let pins: TransportSecurityDomains<ServerPins>

    /// Everything goes.
    package static let off = AppTransportSecurity()

    private init() {
        complaints = []
        isOn = false
        allowsArbitraryLoads = true
        allowsLocalNetworking = true
        exceptions = TransportSecurityDomains()
        pins = TransportSecurityDomains()
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
        settings.take(complaintsOf: reader)
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
        self.allowsArbitraryLoads = allowsArbitraryLoads && !isPrecise
        allowsLocalNetworking = reader.boolean("NSAllowsLocalNetworking") ?? false
        // There are no web views and no media players here.
        _ = reader.boolean("NSAllowsArbitraryLoadsInWebContent")
        _ = reader.boolean("NSAllowsArbitraryLoadsForMedia")
        exceptions = Self.domains("NSExceptionDomains", &reader, TransportSecurityException.init) { .strictest }
        pins = Self.domains("NSPinnedDomains", &reader, ServerPins.init) { .unreadable }
        reader.finish()
        complaints = reader.complaints
        isOn = true
    }

    package func decide(_ url: HTTPURL) -> Decision {
        guard isOn else { return .allowed }
        if url.scheme.isSecure { return demands(on: url.host).map(Decision.demands) ?? .allowed }
        if let exception = exceptions[url.host] { return exception.allowsInsecureLoads ? .allowed : .denied }
        return isExempt(url.host) ? .allowed : .denied
    }

    /// What secure connections to a host have to be like; nil if they need to be like nothing in particular.
    ///
    /// - Parameter host: As in `HTTPURL`.
    package func demands(on host: String) -> TransportSecurityDemands? {
        guard isOn else { return nil }
        var demands = exceptions[host]?.demands ?? (isExempt(host) ? nil : .standard)
        if let pins = pins[host] {
            demands = demands ?? TransportSecurityDemands()
            demands?.pins = pins
        }
        return demands
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

    private static func domains<Setting>(
        _ key: String, _ reader: inout PropertyListReader, _ read: (inout PropertyListReader) -> Setting,
        unreadable: () -> Setting
    ) -> TransportSecurityDomains<Setting> {
        var result = TransportSecurityDomains<Setting>()
        guard var domains = reader.dictionary(key) else { return result }
        for name in domains.keys {
            guard var entry = domains.dictionary(name) else {
                // It is meant to be about that domain. The reader has complained.
                _ = result.add(unreadable(), includesSubdomains: true, forKey: name)
                continue
            }
            let includesSubdomains = entry.boolean("NSIncludesSubdomains") ?? false
            let setting = read(&entry)
            if let reason = result.add(setting, includesSubdomains: includesSubdomains, forKey: name) {
                entry.complain(reason)
            }
            entry.finish()
            domains.take(complaintsOf: entry)
        }
        reader.take(complaintsOf: domains)
        return result
    }
}
