internal import LoadingSemantics
internal import LoadingTransport

/// Recent answers of the resolver about addresses.
///
/// The absence of addresses of one family is cached too. It is valid while the host has cached addresses of the other
/// family: then no request waits for AAAA answers that are always empty. A name that does not exist is always resolved
/// again.
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

    /// Drops expired entries; if none has expired, the older half.
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
