/// The hosts that are spoken to over secure connections only (RFC 6797 §5.3, §8): those that said so, and those that
/// are known before.
///
/// A value without a clock: each call says what time it is. Nothing that servers send makes it larger than its limits
/// allow; what was used least goes first.
package struct HSTSHosts: Sendable {
    private struct Entry: Sendable {
        var record: HSTSRecord
        /// The end that was told last as one to store.
        var toldEnd: Int64
        let site: String
        /// When it was noted or looked up last, as a count: the time of day may jump.
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

    /// Of those that said so, with those whose time is over and that have not been looked at since.
    package var count: Int { entries.count }

    /// Does what a response says. It waits for no list: until that has been read, hosts whose last two labels are the same
    /// are of one site.
    ///
    /// - Parameters:
    ///   - fields: Of any response, whatever its status.
    ///   - isTrusted: Whether nothing was wrong with the connection: the default evaluation trusts the server, and it
    ///     was not somebody's own decision to talk to it in spite of an error.
    package mutating func note(
        _ fields: HTTPFields, from url: HTTPURL, isTrusted: Bool, at now: Int64
    ) -> HSTSOutcome {
        guard fields.contains("Strict-Transport-Security") else { return .nothing }
        if !url.scheme.isSecure { return .refused(.insecure) }
        if !isTrusted { return .refused(.untrusted) }
        if CookieDomain.isAddress(url.host) { return .refused(.address) }
        guard let host = Self.name(url.host) else { return .refused(.badName) }
        guard let wish = StrictTransportSecurity(fields) else { return .refused(.malformed) }
        if wish.maximumAge == 0 { return remove(host) ? .removed(host) : .nothing }
        let record = HSTSRecord(
            host: host, expires: DeltaSeconds.sum(now, wish.maximumAge), includesSubdomains: wish.includesSubdomains)
        return put(record, at: now) { $0.siteWithoutWaiting(of: host) }
    }

    /// Takes a record from a copy on disk, which may be anybody's work.
    package mutating func insert(_ record: HSTSRecord, at now: Int64) -> HSTSOutcome {
        if CookieDomain.isAddress(record.host) { return .refused(.address) }
        guard Self.name(record.host) == record.host else { return .refused(.badName) }
        if record.isExpired(at: now) { return .nothing }
        var record = record
        // No field can ask for more; the clock may have been wrong when it was written.
        record.expires = min(record.expires, DeltaSeconds.sum(now, DeltaSeconds.maximum))
        return put(record, at: now) { $0.site(of: record.host) }
    }

    /// Whether a host is spoken to over secure connections only (§8.2): its URLs become `SecureURL`s (§8.3, R-22).
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

    /// What is known, in no order.
    package func all(at now: Int64) -> [HSTSRecord] {
        entries.values.map(\.record).filter { !$0.isExpired(at: now) }
    }

    /// Forgets a host. False if it was not known.
    package mutating func remove(_ host: String) -> Bool {
        guard let entry = entries.removeValue(forKey: host) else { return false }
        // In place, or each removal would copy the whole set.
        sites[entry.site]?.remove(host)
        if sites[entry.site]?.isEmpty == true { sites[entry.site] = nil }
        return true
    }

    /// Forgets those whose time is over, and says which those were.
    package mutating func removeExpired(at now: Int64) -> [String] {
        let expired = entries.values.filter { $0.record.isExpired(at: now) }.map(\.record.host)
        for host in expired { _ = remove(host) }
        return expired
    }

    /// Forgets all that was said.
    package mutating func removeAll() {
        entries = [:]
        sites = [:]
    }
}

extension HSTSHosts {
    /// The longest name that DNS knows, without the dot at the end (RFC 1035 §2.3.4).
    private static let maximumNameLength = 253

    /// The name of a host without the dot that may stand at its end; nil if there can be no such name.
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

    /// - Parameter site: Which site a host is of that is new.
    private mutating func put(
        _ record: HSTSRecord, at now: Int64, site: (PublicSuffixes) -> PublicSuffixes.Site
    ) -> HSTSOutcome {
        if let index = entries.index(forKey: record.host) {
            let old = entries.values[index]
            let isSame = old.record.includesSubdomains == record.includesSubdomains && !old.record.isExpired(at: now)
            let moved = DeltaSeconds.difference(record.expires, old.toldEnd).magnitude
            entries.values[index].record = record
            entries.values[index].lastUse = nextUse()
            if isSame, moved <= DeltaSeconds.difference(record.expires, now).magnitude / 16 {
                return .refreshed(record)
            }
            entries.values[index].toldEnd = record.expires
            return .stored(record, evicted: [])
        }
        let site = site(suffixes).name
        var evicted: [String] = []
        if let hosts = sites[site], hosts.count >= limits.site {
            evicted += makeRoom(among: hosts, leaving: limits.siteAfterwards, at: now)
        }
        if entries.count >= limits.total {
            evicted += makeRoom(among: entries.keys, leaving: limits.totalAfterwards, at: now)
        }
        entries[record.host] = Entry(record: record, toldEnd: record.expires, site: site, lastUse: nextUse())
        sites[site, default: []].insert(record.host)
        return .stored(record, evicted: evicted)
    }

    /// Forgets those whose time is over, and if that is none, those that have not been used for longest.
    private mutating func makeRoom(
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
