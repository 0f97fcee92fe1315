/// What is known of the alternatives of one origin.
package struct AlternativeServicesRecord: Sendable, Hashable {
    package struct Entry: Sendable, Hashable {
        package let service: AlternativeService
        /// In seconds since 1970; at that moment it is over.
        package let expires: Int64

        package init(_ service: AlternativeService, expires: Int64) {
            self.service = service
            self.expires = expires
        }
    }

    package let origin: HostPort
    /// In the order of preference.
    package let entries: [Entry]

    package init(origin: HostPort, entries: [Entry]) {
        self.origin = origin
        self.entries = entries
    }

    package func isExpired(at now: Int64) -> Bool { entries.allSatisfy { $0.expires <= now } }

    /// The same without what does not pass.
    func keeping(where passes: (Entry) -> Bool) -> AlternativeServicesRecord {
        AlternativeServicesRecord(origin: origin, entries: entries.filter(passes))
    }

    /// What of it a copy on disk has; nil if that is nothing. Who reads it later does not know whether the network is the same
    /// still (RFC 7838 §2.2). The origin's own host is where it is in any network; another may be there for this one alone,
    /// unless it was said to be good elsewhere.
    package var persistent: AlternativeServicesRecord? { part { lasts($0) } }

    /// What is left of it in memory alone.
    var transient: AlternativeServicesRecord? { part { !lasts($0) } }

    private func lasts(_ entry: Entry) -> Bool {
        entry.service.persists || entry.service.hostPort(for: origin).host == origin.host
    }

    private func part(where passes: (Entry) -> Bool) -> AlternativeServicesRecord? {
        let part = keeping(where: passes)
        return part.entries.isEmpty ? nil : part
    }

    /// Whether a copy that was told the other need not be told this: origins say the same with every response.
    func isNearly(_ other: AlternativeServicesRecord, at now: Int64) -> Bool {
        entries.count == other.entries.count
            && zip(entries, other.entries).allSatisfy { new, old in
                let moved = DeltaSeconds.difference(new.expires, old.expires).magnitude
                return new.service == old.service && old.expires > now
                    && moved <= DeltaSeconds.difference(new.expires, now).magnitude / 16
            }
    }
}
