internal import LoadingSemantics

/// Recent answers, each for a limited time. A value without a clock; times are nanoseconds of a monotonic clock.
protocol ResolverCache: Sendable {
    associatedtype Question: Hashable, Sendable
    associatedtype Answer: Sendable

    init()

    func answer(to question: Question, at now: Int64) -> Answer?
    mutating func remember(_ answer: Answer, to question: Question, at now: Int64)
    mutating func forget(_ host: String)
    mutating func forgetAll()
}

/// Answers until they expire, a limited number of them.
struct ExpiringAnswers<Question: Hashable & Sendable, Answer: Sendable>: Sendable {
    let limit: Int
    private var entries: [Question: ExpiringAnswer<Answer>] = .withRoom()

    init(limit: Int) { self.limit = limit }

    var count: Int { entries.count }

    func answer(to question: Question, at now: Int64) -> Answer? {
        guard let entry = entries[question], entry.expiry > now else { return nil }
        return entry.answer
    }

    mutating func set(_ answer: Answer, to question: Question, until expiry: Int64, at now: Int64) {
        if entries.count >= limit, entries[question] == nil { evict(at: now) }
        entries[question] = ExpiringAnswer(answer: answer, expiry: expiry)
    }

    mutating func remove(_ question: Question) { entries[question] = nil }

    mutating func remove(where isRemoved: (Question) -> Bool) {
        if !entries.isEmpty { entries = entries.filter { !isRemoved($0.key) } }
    }

    mutating func removeAll() { entries = [:] }

    /// Drops expired entries; if none has expired, the half that expires first.
    private mutating func evict(at now: Int64) {
        entries = entries.filter { $0.value.expiry > now }
        guard entries.count >= limit else { return }
        let expiries = entries.values.map(\.expiry).sorted()
        let median = expiries[expiries.count / 2]
        entries = entries.filter { $0.value.expiry > median }
    }
}

/// Not within `ExpiringAnswers`, whose question would be part of its type, with what it requires.
private struct ExpiringAnswer<Answer: Sendable>: Sendable {
    let answer: Answer
    let expiry: Int64
}
