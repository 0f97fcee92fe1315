/// Domains that are known to want secure connections before any response has said so (RFC 6797 §12.3, TLS-7).
package struct HSTSPreload: Sendable {
    private let domains: Set<String>
    /// Of the longest, in octets: what is longer is not looked for.
    private let longest: Int

    /// - Parameter domains: Each stands for all names below it, in lower-case ASCII.
    package init(_ domains: Set<String> = []) {
        self.domains = domains
        longest = domains.map(\.utf8.count).max() ?? 0
    }

    /// Whole top-level domains, whose registries made it a rule for everybody below them, and which browsers carry for
    /// that reason. That does not change with a site, so the table may be as old as the program. Single sites are left
    /// out: they come, and they go, and who has gone would be locked out by an old table.
    package static let topLevelDomains = HSTSPreload([
        // Google's
        "android", "app", "boo", "channel", "chrome", "dad", "day", "dev", "eat", "esq", "fly", "foo", "gle", "gmail",
        "google", "hangout", "ing", "meet", "meme", "mov", "new", "nexus", "page", "phd", "play", "prof", "rsvp",
        "search", "youtube", "zip",
        // fTLD's
        "bank", "insurance",
        // Microsoft's
        "azure", "bing", "hotmail", "microsoft", "office", "skype", "windows", "xbox",
    ])

    /// Whether a host lies below one of the domains. A dot may stand at its end.
    ///
    /// Not the domain itself: a top-level domain has no site, but on a network of its own a machine may well be called
    /// "app" or "search".
    package func covers(_ host: String) -> Bool {
        if domains.isEmpty { return false }
        var rest = host.utf8.last == UInt8(ascii: ".") ? Substring(host.utf8.dropLast()) : host[...]
        while let dot = rest.utf8.firstIndex(of: UInt8(ascii: ".")) {
            rest = rest[rest.utf8.index(after: dot)...]
            if rest.utf8.count <= longest, domains.contains(String(rest)) { return true }
        }
        return false
    }
}
