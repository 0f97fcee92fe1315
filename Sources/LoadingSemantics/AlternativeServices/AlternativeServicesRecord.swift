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

    package let origin: ServerPlace
    /// In the order of preference.
    package let entries: [Entry]

    package init(origin: ServerPlace, entries: [Entry]) {
        self.origin = origin
        self.entries = entries
    }

    package func isExpired(at now: Int64) -> Bool { entries.allSatisfy { $0.expires <= now } }

    /// The same without what does not pass.
    func keeping(where passes: (Entry) -> Bool) -> AlternativeServicesRecord {
        AlternativeServicesRecord(origin: origin, entries: entries.filter(passes))
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
