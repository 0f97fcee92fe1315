internal import LoadingSemantics

/// Recent answers of name servers about HTTPS records. The absence of records and failed queries are cached too: a
/// query in parallel with the addresses is not worth a second try soon.
struct HTTPSRecordCache: ResolverCache {
    static let most = 512

    private var answers = ExpiringAnswers<HTTPSRecordQuery, HTTPSRecordAnswer>(limit: most)

    var count: Int { answers.count }

    func answer(to question: HTTPSRecordQuery, at now: Int64) -> HTTPSRecordAnswer? {
        answers.answer(to: question, at: now)
    }

    mutating func remember(_ answer: HTTPSRecordAnswer, to question: HTTPSRecordQuery, at now: Int64) {
        var lifetime = TimeLimits.standard.recordLifetime
        if case .success(let found) = answer, let seconds = found.lifetime {
            lifetime = min(TimeLimits.seconds(Int64(seconds)), TimeLimits.standard.longestRecordLifetime)
        }
        // A record with a lifetime of 0 is not cached, but replaces an older one.
        if lifetime == 0 { return answers.remove(question) }
        answers.set(answer, to: question, until: now + lifetime, at: now)
    }

    mutating func forget(_ host: String) { answers.remove { $0.host == host } }

    mutating func forgetAll() { answers.removeAll() }
}
