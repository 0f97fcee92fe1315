/// What origins have said about where else they speak HTTP/3, and for how long (RFC 7838, CONN-6, CONN-8).
///
/// A value without a clock: each call says what time it is, in seconds since 1970. What servers send makes it no larger
/// than its limits allow: who has not said anything for longest goes first, and comes back with its next response.
package struct AlternativeServices: Sendable {
    private struct Entry: Sendable {
        var record: AlternativeServicesRecord
        /// What was told last as one to store.
        var told: AlternativeServicesRecord
        /// When it came, as a count: the time of day may jump.
        var number: UInt64
    }

    package static let mostOrigins = 256

    private let most: Int
    private var entries: [HostPort: Entry] = [:]
    private var lastNumber: UInt64 = 0

    package init(mostOrigins most: Int = mostOrigins) { self.most = max(most, 1) }

    /// Of origins, with those whose time is over and that have not been looked at since.
    package var count: Int { entries.count }

    /// Does what a response says: each field replaces all that its origin has said before (§3).
    ///
    /// - Parameters:
    ///   - fields: Of a response of the origin itself, and none from a cache.
    ///   - url: Whose response it is. Over a connection that anyone can write to nothing is learnt (§2.1).
    package mutating func note(
        _ fields: HTTPFields, from url: HTTPURL, at now: Int64
    ) -> AlternativeServicesOutcome {
        guard url.scheme.isSecure, let field = AlternativeServiceField(fields) else { return .nothing }
        let origin = HostPort(url.host, url.port)
        guard case .offers(let offers) = field else { return remove(origin) }
        // A cache on the way may have kept it for a while (§3.1).
        let age =
            fields.firstValue("Age").flatMap { DeltaSeconds.parse(OptionalWhitespace.trimmed(Array($0.utf8))) } ?? 0
        let known = offers.filter { $0.service.isAllowed(for: origin) }.map { offer in
            let left = min(offer.maximumAge, TimeLimits.standard.longestAlternativeLifetime) - age
            return AlternativeServicesRecord.Entry(offer.service, expires: DeltaSeconds.sum(now, left))
        }
        return put(AlternativeServicesRecord(origin: origin, entries: known), at: now)
    }

    /// Takes a record from a copy on disk, which may be anybody's work.
    package mutating func insert(_ record: AlternativeServicesRecord, at now: Int64) -> AlternativeServicesOutcome {
        let latest = DeltaSeconds.sum(now, TimeLimits.standard.longestAlternativeLifetime)
        let entries = record.entries.prefix(AlternativeServiceField.mostOffers).filter { entry in
            guard entry.service.port > 0, entry.service.isAllowed(for: record.origin) else { return false }
            guard let host = entry.service.host else { return true }
            let text = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
            return AlternativeService.host(text) == host
        }
        // No field can ask for more; the clock may have been wrong when it was written.
        let believed = entries.map { AlternativeServicesRecord.Entry($0.service, expires: min($0.expires, latest)) }
        return put(AlternativeServicesRecord(origin: record.origin, entries: believed), at: now)
    }

    /// Has the records of a copy in position of what copies have. What they have not stays, behind that. Tells what became of
    /// each.
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

    /// Where else the origin may be asked, in the order in which it prefers that. Costs next to nothing when nothing is
    /// known.
    package func services(of origin: HostPort, at now: Int64) -> [AlternativeService] {
        if entries.isEmpty { return [] }
        guard let entry = entries[origin] else { return [] }
        return entry.record.entries.lazy.filter { $0.expires > now }.map(\.service)
    }

    /// Forgets one alternative, since the server there says that it is not the origin (§6).
    package mutating func remove(_ service: AlternativeService, of origin: HostPort) -> AlternativeServicesOutcome {
        guard let entry = entries[origin] else { return .nothing }
        let left = entry.record.keeping { !$0.service.hasSameHostPort(as: service) }
        if left.entries.isEmpty { return remove(origin) }
        if left == entry.record { return .nothing }
        entries[origin]?.record = left
        entries[origin]?.told = left
        return .stored(left, evicted: [])
    }

    /// Forgets an origin.
    package mutating func remove(_ origin: HostPort) -> AlternativeServicesOutcome {
        entries.removeValue(forKey: origin) == nil ? .nothing : .removed(origin)
    }

    /// Forgets what was said for the network alone in which it was said (§2.2).
    package mutating func networkChanged(at now: Int64) -> [AlternativeServicesOutcome] {
        var outcomes: [AlternativeServicesOutcome] = []
        for (origin, entry) in entries {
            let left = entry.record.keeping { $0.service.persists && $0.expires > now }
            if left == entry.record { continue }
            if left.entries.isEmpty {
                outcomes.append(remove(origin))
            } else {
                entries[origin]?.record = left
                entries[origin]?.told = left
                outcomes.append(.stored(left, evicted: []))
            }
        }
        return outcomes
    }

    /// What is known, in no order.
    package func all(at now: Int64) -> [AlternativeServicesRecord] {
        entries.values.map { $0.record.keeping { $0.expires > now } }.filter { !$0.entries.isEmpty }
    }

    /// Forgets those whose time is over, and says which those were.
    package mutating func removeExpired(at now: Int64) -> [HostPort] {
        let expired = entries.filter { $0.value.record.isExpired(at: now) }.map(\.key)
        for origin in expired { entries[origin] = nil }
        return expired
    }

    package mutating func removeAll() { entries = [:] }

    private mutating func put(_ record: AlternativeServicesRecord, at now: Int64) -> AlternativeServicesOutcome {
        let record = record.keeping { $0.expires > now }
        if record.entries.isEmpty { return remove(record.origin) }
        lastNumber += 1
        if let index = entries.index(forKey: record.origin) {
            entries.values[index].record = record
            entries.values[index].number = lastNumber
            if record.isNearly(entries.values[index].told, at: now) { return .refreshed(record) }
            entries.values[index].told = record
            return .stored(record, evicted: [])
        }
        let evicted = entries.count >= most ? makeRoom(at: now) : []
        entries[record.origin] = Entry(record: record, told: record, number: lastNumber)
        return .stored(record, evicted: evicted)
    }

    /// Forgets those whose time is over, and if that is none, the one that came first.
    private mutating func makeRoom(at now: Int64) -> [HostPort] {
        let expired = removeExpired(at: now)
        guard expired.isEmpty, let first = entries.min(by: { $0.value.number < $1.value.number })?.key else {
            return expired
        }
        entries[first] = nil
        return [first]
    }
}
