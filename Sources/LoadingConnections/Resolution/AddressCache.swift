internal import LoadingSemantics
internal import LoadingTransport

/// What the resolver said lately about addresses.
///
/// That a host has no addresses of one family is remembered too, and believed as long as it is known to have some of
/// the other: nobody then waits for an IPv6 answer that never holds anything. That a name does not exist is asked anew
/// each time.
struct AddressCache: ResolverCache {
    private struct Entry {
        let answer: AddressAnswer
        let expiry: Int64
    }

    static let most = 512

    private var entries: [AddressQuery: Entry] = [:]

    var count: Int { entries.count }

    func answer(to question: AddressQuery, at now: Int64) -> AddressAnswer? {
        guard let entry = entries[question], entry.expiry > now else { return nil }
        if case .success = entry.answer { return entry.answer }
        guard let other = entries[question.sibling], other.expiry > now, case .success = other.answer else {
            return nil
        }
        return entry.answer
    }

    mutating func remember(_ answer: AddressAnswer, to question: AddressQuery, at now: Int64) {
        if case .failure(let failure) = answer, !failure.isDefinite { return }
        if entries.count >= Self.most, entries[question] == nil { makeRoom(at: now) }
        entries[question] = Entry(answer: answer, expiry: now + TimeLimits.standard.addressLifetime)
    }

    /// Drops what has expired; if nothing has, the older half.
    private mutating func makeRoom(at now: Int64) {
        entries = entries.filter { $0.value.expiry > now }
        guard entries.count >= Self.most else { return }
        let expiries = entries.values.map(\.expiry).sorted()
        let median = expiries[expiries.count / 2]
        entries = entries.filter { $0.value.expiry > median }
    }

    mutating func forget(_ host: String) {
        entries[AddressQuery(host, .ipv4)] = nil
        entries[AddressQuery(host, .ipv6)] = nil
    }

    mutating func forgetAll() { entries = [:] }
}
