/// Domains that require secure connections without a prior response (RFC 6797 §12.3, TLS-7).
package struct HSTSPreload: Sendable {
    /// Sorted. They are made for a process's first session, and a set would hash them all.
    private let domains: [String]
    /// The length of the longest domain, in octets, to skip longer names.
    private let longest: Int

    /// - Parameter domains: In lower-case ASCII. Each includes all names below it, but not itself.
    package init(_ domains: [String] = []) {
        self.domains = domains.sorted()
        longest = domains.map(\.utf8.count).max() ?? 0
    }

    /// Top-level domains whose registries require HTTPS, and which browsers preload for that reason. They are stable,
    /// so the table need not be updated. Individual sites are omitted, because a site that leaves the list would be
    /// unreachable with an old table.
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

    /// Whether a host is below one of the domains. The host may have a final dot.
    ///
    /// The domain itself is not covered: in a local network a machine may be named "app" or "search".
    package func covers(_ host: String) -> Bool {
        if domains.isEmpty { return false }
        var rest = host.utf8.last == UInt8(ascii: ".") ? Substring(host.utf8.dropLast()) : host[...]
        while let dot = rest.utf8.firstIndex(of: UInt8(ascii: ".")) {
            rest = rest[rest.utf8.index(after: dot)...]
            if rest.utf8.count <= longest, isListed(String(rest)) { return true }
        }
        return false
    }

    private func isListed(_ name: String) -> Bool {
        var (start, end) = (0, domains.count)
        while start < end {
            let middle = (start + end) / 2
            if domains[middle] < name { start = middle + 1 } else { end = middle }
        }
        return start < domains.count && domains[start] == name
    }
}
