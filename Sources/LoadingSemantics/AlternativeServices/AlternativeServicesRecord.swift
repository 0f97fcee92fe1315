/// The known alternatives of one origin.
package struct AlternativeServicesRecord: Sendable, Hashable {
    package struct Entry: Sendable, Hashable {
        package let service: AlternativeService
        /// In seconds since 1970. The entry is invalid from that second on.
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

    /// The record with only the entries that satisfy the condition.
    func filtered(where passes: (Entry) -> Bool) -> AlternativeServicesRecord {
        AlternativeServicesRecord(origin: origin, entries: entries.filter(passes))
    }

    /// The part that is written to disk; nil if that is empty.
    ///
    /// When the file is read, the network may be another (RFC 7838 §2.2). So an entry is persistent only if it has
    /// `persist`, or if its host is the origin's own, which is valid in any network.
    package var persistent: AlternativeServicesRecord? { part { isPersistent($0) } }

    /// The part that stays in memory only.
    var transient: AlternativeServicesRecord? { part { !isPersistent($0) } }

    private func isPersistent(_ entry: Entry) -> Bool {
        entry.service.persists || entry.service.hostPort(for: origin).host == origin.host
    }

    private func part(where passes: (Entry) -> Bool) -> AlternativeServicesRecord? {
        let part = filtered(where: passes)
        return part.entries.isEmpty ? nil : part
    }

    /// Whether the record differs from the other only by a small change of expiry. Origins repeat `Alt-Svc` in every
    /// response, and each repetition would cost a write.
    func isNearlyEqual(to other: AlternativeServicesRecord, at now: Int64) -> Bool {
        entries.count == other.entries.count
            && zip(entries, other.entries).allSatisfy { new, old in
                let moved = DeltaSeconds.difference(new.expires, old.expires).magnitude
                return new.service == old.service && old.expires > now
                    && moved <= DeltaSeconds.difference(new.expires, now).magnitude / 16
            }
    }
}

/// The change that an update made, for a copy on disk to follow.
package enum AlternativeServicesOutcome: Sendable, Equatable {
    /// The record replaces that of its origin. The `evicted` origins were removed to make room.
    case stored(AlternativeServicesRecord, evicted: [HostPort])
    /// Only the expiry changed, by too little to be worth a write.
    case refreshed(AlternativeServicesRecord)
    /// The origin has no record any more.
    case removed(HostPort)
    /// Nothing changed.
    case nothing
}
