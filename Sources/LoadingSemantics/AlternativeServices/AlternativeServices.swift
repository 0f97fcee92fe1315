/// The HTTP/3 alternatives that origins have advertised, with their lifetimes (RFC 7838, CONN-6, CONN-8).
///
/// A value without a clock: callers pass the time, in seconds since 1970. The number of origins is bounded; the least
/// recently updated one is evicted.
package struct AlternativeServices: Sendable {
    private struct Entry: Sendable {
        var record: AlternativeServicesRecord
        /// The record that was last reported as `.stored`.
        var reported: AlternativeServicesRecord
        /// Order of the updates. A count, because the wall clock may jump.
        var number: UInt64
    }

    package static let maximumOrigins = 256

    private let maximumCount: Int
    private var entries: [HostPort: Entry] = [:]
    private var lastNumber: UInt64 = 0

    package init(maximumOrigins maximumCount: Int = maximumOrigins) { self.maximumCount = max(maximumCount, 1) }

    /// The number of origins, including expired ones that were not looked up since.
    package var count: Int { entries.count }

    /// Applies the `Alt-Svc` fields of a response. They replace all that is known of the origin (§3).
    ///
    /// - Parameters:
    ///   - fields: Of a response from the origin itself, not from a cache.
    ///   - url: The URL of the response. Fields over insecure connections are ignored (§2.1).
    package mutating func note(
        _ fields: HTTPFields, from url: HTTPURL, at now: Int64
    ) -> AlternativeServicesOutcome {
        guard url.scheme.isSecure, let field = AlternativeServiceField(fields) else { return .nothing }
        let origin = HostPort(url.host, url.port)
        guard case .offers(let offers) = field else { return remove(origin) }
        // A shared cache may have stored the response for that time (§3.1).
        let age =
            fields.firstValue("Age").flatMap { DeltaSeconds.parse(OptionalWhitespace.trimmed(Array($0.utf8))) } ?? 0
        let known = offers.filter { $0.service.isAllowed(for: origin) }.map { offer in
            let left = min(offer.maximumAge, TimeLimits.standard.longestAlternativeLifetime) - age
            return AlternativeServicesRecord.Entry(offer.service, expires: DeltaSeconds.sum(now, left))
        }
        return put(AlternativeServicesRecord(origin: origin, entries: known), at: now)
    }

    /// Inserts a record from disk. The file may have been changed by other programs, so the record is validated.
    package mutating func insert(_ record: AlternativeServicesRecord, at now: Int64) -> AlternativeServicesOutcome {
        let latest = DeltaSeconds.sum(now, TimeLimits.standard.longestAlternativeLifetime)
        let entries = record.entries.prefix(AlternativeServiceField.maximumOffers).filter { entry in
            guard entry.service.port > 0, entry.service.isAllowed(for: record.origin) else { return false }
            guard let host = entry.service.host else { return true }
            let text = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
            return AlternativeService.host(text) == host
        }
        // `ma` is capped at this lifetime; a later expiry comes from a wrong clock.
        let capped = entries.map { AlternativeServicesRecord.Entry($0.service, expires: min($0.expires, latest)) }
        return put(AlternativeServicesRecord(origin: record.origin, entries: capped), at: now)
    }

    /// Replaces the persistent records by those of the file. Transient alternatives are kept, after the persistent ones
    /// of the same origin. Returns the outcome for each record.
    package mutating func replace(
        with records: [AlternativeServicesRecord], at now: Int64
    ) -> [AlternativeServicesOutcome] {
        let transient = all(at: now).compactMap(\.transient)
        removeAll()
        let outcomes = records.map { insert($0, at: now) }
        for record in transient {
            let known = entries[record.origin]?.record.entries ?? []
            _ = put(AlternativeServicesRecord(origin: record.origin, entries: known + record.entries), at: now)
        }
        return outcomes
    }

    /// The unexpired alternatives of the origin, in its order of preference.
    package func services(of origin: HostPort, at now: Int64) -> [AlternativeService] {
        if entries.isEmpty { return [] }
        guard let entry = entries[origin] else { return [] }
        return entry.record.entries.lazy.filter { $0.expires > now }.map(\.service)
    }

    /// Removes one alternative, because its server answered that it is not authoritative for the origin (§6).
    package mutating func remove(_ service: AlternativeService, of origin: HostPort) -> AlternativeServicesOutcome {
        guard let entry = entries[origin] else { return .nothing }
        let left = entry.record.filtered { !$0.service.hasSameHostPort(as: service) }
        if left.entries.isEmpty { return remove(origin) }
        if left == entry.record { return .nothing }
        entries[origin]?.record = left
        entries[origin]?.reported = left
        return .stored(left, evicted: [])
    }

    /// Removes all alternatives of an origin.
    package mutating func remove(_ origin: HostPort) -> AlternativeServicesOutcome {
        entries.removeValue(forKey: origin) == nil ? .nothing : .removed(origin)
    }

    /// Removes alternatives without `persist`, which are valid only in the network in which they were received (§2.2).
    package mutating func networkChanged(at now: Int64) -> [AlternativeServicesOutcome] {
        var outcomes: [AlternativeServicesOutcome] = []
        for (origin, entry) in entries {
            let left = entry.record.filtered { $0.service.persists && $0.expires > now }
            if left == entry.record { continue }
            if left.entries.isEmpty {
                outcomes.append(remove(origin))
            } else {
                entries[origin]?.record = left
                entries[origin]?.reported = left
                outcomes.append(.stored(left, evicted: []))
            }
        }
        return outcomes
    }

    /// All unexpired records, unordered.
    package func all(at now: Int64) -> [AlternativeServicesRecord] {
        entries.values.map { $0.record.filtered { $0.expires > now } }.filter { !$0.entries.isEmpty }
    }

    /// Removes expired records. Returns their origins.
    package mutating func removeExpired(at now: Int64) -> [HostPort] {
        let expired = entries.filter { $0.value.record.isExpired(at: now) }.map(\.key)
        for origin in expired { entries[origin] = nil }
        return expired
    }

    package mutating func removeAll() { entries = [:] }

    private mutating func put(_ record: AlternativeServicesRecord, at now: Int64) -> AlternativeServicesOutcome {
        let record = record.filtered { $0.expires > now }
        if record.entries.isEmpty { return remove(record.origin) }
        lastNumber += 1
        if let index = entries.index(forKey: record.origin) {
            entries.values[index].record = record
            entries.values[index].number = lastNumber
            if record.isNearlyEqual(to: entries.values[index].reported, at: now) { return .refreshed(record) }
            entries.values[index].reported = record
            return .stored(record, evicted: [])
        }
        let evicted = entries.count >= maximumCount ? evict(at: now) : []
        entries[record.origin] = Entry(record: record, reported: record, number: lastNumber)
        return .stored(record, evicted: evicted)
    }

    /// Removes expired records, or if there are none, the least recently updated one. Returns the removed origins.
    private mutating func evict(at now: Int64) -> [HostPort] {
        let expired = removeExpired(at: now)
        guard expired.isEmpty, let first = entries.min(by: { $0.value.number < $1.value.number })?.key else {
            return expired
        }
        entries[first] = nil
        return [first]
    }
}
