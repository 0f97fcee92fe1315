internal import LoadingSemantics

/// Recent answers of name servers about HTTPS records. The absence of records and failed queries are cached too: a
/// query in parallel with the addresses is not worth a second try soon.
struct HTTPSRecordCache: ResolverCache {
    private struct Entry {
        let answer: HTTPSRecordAnswer
        let expiry: Int64
    }

    static let most = 512

    private var entries: [HTTPSRecordQuery: Entry] = [:]

    var count: Int { entries.count }

    func answer(to question: HTTPSRecordQuery, at now: Int64) -> HTTPSRecordAnswer? {
        guard let entry = entries[question], entry.expiry > now else { return nil }
        return entry.answer
    }

    mutating func remember(_ answer: HTTPSRecordAnswer, to question: HTTPSRecordQuery, at now: Int64) {
        var lifetime = TimeLimits.standard.recordLifetime
        if case .success(let found) = answer, let seconds = found.lifetime {
            lifetime = min(TimeLimits.seconds(Int64(seconds)), TimeLimits.standard.longestRecordLifetime)
        }
        // A record with a lifetime of 0 is not cached, but replaces an older one.
        if lifetime == 0 { return entries[question] = nil }
        if entries.count >= Self.most, entries[question] == nil { makeRoom(at: now) }
        entries[question] = Entry(answer: answer, expiry: now + lifetime)
    }

    /// Drops expired entries; if none has expired, the half that expires first.
    private mutating func makeRoom(at now: Int64) {
        entries = entries.filter { $0.value.expiry > now }
        guard entries.count >= Self.most else { return }
        let expiries = entries.values.map(\.expiry).sorted()
        let median = expiries[expiries.count / 2]
        entries = entries.filter { $0.value.expiry > median }
    }

    mutating func forget(_ host: String) {
        if !entries.isEmpty { entries = entries.filter { $0.key.host != host } }
    }

    mutating func forgetAll() { entries = [:] }
}
