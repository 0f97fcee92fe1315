/// HSTS hosts: those that sent `Strict-Transport-Security`, and preloaded ones (RFC 6797 §5.3, §8).
///
/// A value without a clock: callers pass the time. The number of hosts is bounded; the least recently used ones are
/// evicted.
package struct HSTSHosts: Sendable {
    private struct Entry: Sendable {
        var record: HSTSRecord
        /// The expiry that was last reported as `.stored`.
        var reportedEnd: Int64
        let site: String
        /// Order of updates and lookups. A count, because the wall clock may jump.
        var lastUse: UInt64
    }

    private let suffixes: PublicSuffixes
    private let preload: HSTSPreload
    private let limits: HSTSLimits
    private var entries: [String: Entry] = [:]
    /// The hosts of each site.
    private var sites: [String: Set<String>] = [:]
    private var useCount: UInt64 = 0

    package init(
        suffixes: PublicSuffixes = .topLevelDomains, preload: HSTSPreload = .topLevelDomains,
        limits: HSTSLimits = HSTSLimits()
    ) {
        self.suffixes = suffixes
        self.preload = preload
        self.limits = limits
    }

    /// The number of noted hosts, including expired ones that were not looked up since.
    package var count: Int { entries.count }

    /// Applies the field of a response. Does not wait for the Public Suffix List: while it is loading, hosts with the
    /// same last two labels belong to one site.
    ///
    /// - Parameters:
    ///   - fields: The fields of a response with any status.
    ///   - isTrusted: Whether the connection had no error: the default evaluation trusts the server, not only the
    ///     application in spite of an error (§8.1).
    package mutating func note(
        _ fields: HTTPFields, from url: HTTPURL, isTrusted: Bool, at now: Int64
    ) -> HSTSOutcome {
        guard fields.contains("Strict-Transport-Security") else { return .nothing }
        if !url.scheme.isSecure { return .refused(.insecure) }
        if !isTrusted { return .refused(.untrusted) }
        if CookieDomain.isAddress(url.host) { return .refused(.address) }
        guard let host = Self.name(url.host) else { return .refused(.badName) }
        guard let policy = StrictTransportSecurity(fields) else { return .refused(.malformed) }
        if policy.maximumAge == 0 { return remove(host) ? .removed(host) : .nothing }
        let record = HSTSRecord(
            host: host, expires: DeltaSeconds.sum(now, policy.maximumAge), includesSubdomains: policy.includesSubdomains
        )
        return put(record, at: now) { $0.siteWithoutWaiting(of: host) }
    }

    /// Inserts a record from disk. The file may have been changed by other programs, so the record is validated.
    package mutating func insert(_ record: HSTSRecord, at now: Int64) -> HSTSOutcome {
        if CookieDomain.isAddress(record.host) { return .refused(.address) }
        guard Self.name(record.host) == record.host else { return .refused(.badName) }
        if record.isExpired(at: now) { return .nothing }
        var record = record
        // `max-age` is capped at this lifetime; a later expiry comes from a wrong clock.
        record.expires = min(record.expires, DeltaSeconds.sum(now, DeltaSeconds.maximum))
        return put(record, at: now) { $0.site(of: record.host) }
    }

    /// Whether a host requires secure connections (§8.2). `SecureURL` then upgrades its URLs (§8.3, R-22).
    ///
    /// - Parameter host: As in `HTTPURL`.
    package mutating func covers(_ host: String, at now: Int64) -> Bool {
        guard !CookieDomain.isAddress(host), let name = Self.name(host) else { return false }
        if preload.covers(name) { return true }
        if entries.isEmpty { return false }
        var rest = name[...]
        var isHost = true
        while true {
            if let index = entries.index(forKey: String(rest)) {
                let record = entries.values[index].record
                if isHost || record.includesSubdomains, !record.isExpired(at: now) {
                    entries.values[index].lastUse = nextUse()
                    return true
                }
            }
            guard let dot = rest.utf8.firstIndex(of: UInt8(ascii: ".")) else { return false }
            rest = rest[rest.utf8.index(after: dot)...]
            isHost = false
        }
    }

    /// All unexpired records, unordered.
    package func all(at now: Int64) -> [HSTSRecord] {
        entries.values.map(\.record).filter { !$0.isExpired(at: now) }
    }

    /// Removes a host. Returns false if it is unknown.
    package mutating func remove(_ host: String) -> Bool {
        guard let entry = entries.removeValue(forKey: host) else { return false }
        // In place, to avoid copying the set for each removal.
        sites[entry.site]?.remove(host)
        if sites[entry.site]?.isEmpty == true { sites[entry.site] = nil }
        return true
    }

    /// Removes expired records. Returns their hosts.
    package mutating func removeExpired(at now: Int64) -> [String] {
        let expired = entries.values.filter { $0.record.isExpired(at: now) }.map(\.record.host)
        for host in expired { _ = remove(host) }
        return expired
    }

    /// Removes all noted hosts.
    package mutating func removeAll() {
        entries = [:]
        sites = [:]
    }
}

extension HSTSHosts {
    /// The longest DNS name without the final dot (RFC 1035 §2.3.4).
    private static let maximumNameLength = 253

    /// The host name without a final dot. Nil if it is not a valid host name.
    package static func name(_ host: String) -> String? {
        let name = host.utf8.last == UInt8(ascii: ".") ? Substring(host.utf8.dropLast()) : host[...]
        if name.isEmpty || name.utf8.count > maximumNameLength { return nil }
        var last = UInt8(ascii: ".")
        for byte in name.utf8 {
            let isDot = byte == UInt8(ascii: ".")
            if isDot && last == byte || !URLBytes.isRegisteredName(byte) || asciiLowercase(byte) != byte { return nil }
            last = byte
        }
        return last == UInt8(ascii: ".") ? nil : String(name)
    }

    /// - Parameter site: Determines the site of a new host.
    private mutating func put(
        _ record: HSTSRecord, at now: Int64, site: (PublicSuffixes) -> PublicSuffixes.Site
    ) -> HSTSOutcome {
        if let index = entries.index(forKey: record.host) {
            let old = entries.values[index]
            let isSame = old.record.includesSubdomains == record.includesSubdomains && !old.record.isExpired(at: now)
            let moved = DeltaSeconds.difference(record.expires, old.reportedEnd).magnitude
            entries.values[index].record = record
            entries.values[index].lastUse = nextUse()
            if isSame, moved <= DeltaSeconds.difference(record.expires, now).magnitude / 16 {
                return .refreshed(record)
            }
            entries.values[index].reportedEnd = record.expires
            return .stored(record, evicted: [])
        }
        let site = site(suffixes).name
        var evicted: [String] = []
        if let hosts = sites[site], hosts.count >= limits.site {
            evicted += evict(among: hosts, leaving: limits.siteAfterwards, at: now)
        }
        if entries.count >= limits.total {
            evicted += evict(among: entries.keys, leaving: limits.totalAfterwards, at: now)
        }
        entries[record.host] = Entry(record: record, reportedEnd: record.expires, site: site, lastUse: nextUse())
        sites[site, default: []].insert(record.host)
        return .stored(record, evicted: evicted)
    }

    /// Removes expired records, or if there are none, the least recently used ones.
    private mutating func evict(
        among hosts: some Collection<String>, leaving count: Int, at now: Int64
    ) -> [String] {
        var leaving = hosts.filter { entries[$0]?.record.isExpired(at: now) ?? false }
        if leaving.isEmpty {
            let byUse = hosts.map { (host: $0, lastUse: entries[$0]?.lastUse ?? 0) }.sorted { $0.lastUse < $1.lastUse }
            leaving = byUse.prefix(hosts.count - count).map(\.host)
        }
        for host in leaving { _ = remove(host) }
        return leaving
    }

    private mutating func nextUse() -> UInt64 {
        useCount += 1
        return useCount
    }
}
