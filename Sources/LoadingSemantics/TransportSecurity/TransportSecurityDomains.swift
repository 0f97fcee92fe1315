/// App Transport Security settings by domain.
struct TransportSecurityDomains<Setting: Sendable & Equatable>: Sendable, Equatable {
    private struct Named: Sendable, Equatable {
        var setting: Setting
        /// The setting of direct subdomains, if there is one.
        var subdomains: Setting?
    }

    private struct Addressed: Sendable, Equatable {
        var setting: Setting
        var range: IPAddressRange
    }

    private var names: [String: Named] = [:]
    private var ranges: [Addressed] = []

    /// Adds the setting of a key and of its direct subdomains. Returns the issue if the key is invalid; the setting is
    /// then ignored.
    mutating func add(
        _ setting: Setting, subdomains: Setting?, forKey key: String
    ) -> TransportSecurityIssue.Reason? {
        if let range = IPAddressRange(key) {
            if ranges.contains(where: { $0.range == range }) { return .twice }
            ranges.append(Addressed(setting: setting, range: range))
            return nil
        }
        guard let name = Self.name(key) else { return .notDomain }
        if names[name] != nil { return .twice }
        names[name] = Named(setting: setting, subdomains: subdomains)
        return nil
    }

    /// The setting of a host: its own, or that of its parent domain if that includes subdomains. Only direct subdomains
    /// are included, as Apple documents. Of several ranges, the smallest applies.
    ///
    /// - Parameter host: As in `HTTPURL`. A final dot is ignored.
    subscript(host: String) -> Setting? {
        let host = Self.withoutDot(host)
        if CookieDomain.isAddress(host) {
            return ranges.filter { $0.range.contains(host) }.max { $0.range.length < $1.range.length }?.setting
        }
        if let own = names[host] { return own.setting }
        guard let dot = host.utf8.firstIndex(of: UInt8(ascii: ".")) else { return nil }
        return names[String(host[host.utf8.index(after: dot)...])]?.subdomains
    }

    /// The name in the form of `HTTPURL.host`; nil if the text is not exactly a host name.
    private static func name(_ key: String) -> String? {
        let marks = "/?#@:*[]%\\".utf8
        guard !key.utf8.contains(where: marks.contains), let url = try? HTTPURL("http://\(key)/"),
            !CookieDomain.isAddress(url.host)
        else { return nil }
        return withoutDot(url.host)
    }

    private static func withoutDot(_ host: String) -> String { host.hasSuffix(".") ? String(host.dropLast()) : host }
}
