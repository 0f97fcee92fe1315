internal import LoadingSemantics
internal import LoadingTransport

/// Recent answers of the resolver about addresses.
///
/// The absence of addresses of one family is cached too. It is valid while the host has cached addresses of the other
/// family: then no request waits for AAAA answers that are always empty. A name that does not exist is always resolved
/// again.
struct AddressCache: ResolverCache {
    static let most = 512

    private var answers = ExpiringAnswers<AddressQuery, AddressAnswer>(limit: most)

    var count: Int { answers.count }

    func answer(to question: AddressQuery, at now: Int64) -> AddressAnswer? {
        guard let answer = answers.answer(to: question, at: now) else { return nil }
        if case .success = answer { return answer }
        guard case .success = answers.answer(to: question.sibling, at: now) else { return nil }
        return answer
    }

    mutating func remember(_ answer: AddressAnswer, to question: AddressQuery, at now: Int64) {
        if case .failure(let failure) = answer, !failure.isDefinite { return }
        answers.set(answer, to: question, until: now + TimeLimits.standard.addressLifetime, at: now)
    }

    mutating func forget(_ host: String) {
        answers.remove(AddressQuery(host, .ipv4))
        answers.remove(AddressQuery(host, .ipv6))
    }

    mutating func forgetAll() { answers.removeAll() }
}
