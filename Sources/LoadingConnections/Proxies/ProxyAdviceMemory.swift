internal import LoadingSemantics

/// What advisers have said lately. A script that did not answer in its time is not asked anything for a while, whatever the
/// question: each answer would take as long.
struct ProxyAdviceMemory: ResolverMemory {
    private struct Entry {
        let answer: ProxyAdvice
        let expiry: Int64
    }

    /// Scripts may go by the time of day, and settings change.
    static let lifetime: Int64 = 30_000_000_000
    static let most = 256

    private var entries: [ProxyQuestion: Entry] = [:]
    private var silent: [ProxyQuestion.Adviser: Int64] = [:]

    var count: Int { entries.count }

    func answer(to question: ProxyQuestion, at now: Int64) -> ProxyAdvice? {
        if let expiry = silent[question.adviser], expiry > now { return .silence }
        guard let entry = entries[question], entry.expiry > now else { return nil }
        return entry.answer
    }

    mutating func remember(_ answer: ProxyAdvice, to question: ProxyQuestion, at now: Int64) {
        if answer == .silence {
            silent = silent.filter { $0.value > now }
            silent[question.adviser] = now + Self.lifetime
            return
        }
        if entries.count >= Self.most { entries = entries.filter { $0.value.expiry > now } }
        if entries.count >= Self.most { entries = [:] }
        entries[question] = Entry(answer: answer, expiry: now + Self.lifetime)
    }

    mutating func forget(_ host: String) { entries = entries.filter { $0.key.inquiry.host != host } }

    mutating func forgetAll() {
        entries = [:]
        silent = [:]
    }
}
