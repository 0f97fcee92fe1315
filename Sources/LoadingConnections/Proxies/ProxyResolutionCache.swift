internal import LoadingSemantics

/// Recent answers of PAC scripts and of the desktop's settings. A script that timed out several times in a row is not
/// run for a while, for any query, because each query would take as long. One timeout is not enough: a server may
/// redirect to a URL that is made to delay the script.
struct ProxyResolutionCache: ResolverCache {
    static let most = 256
    /// The number of timeouts in a row after which a script counts as silent.
    static let patience = 3

    private struct Silence {
        var count = 0
        /// When the last timeout expires.
        var expiry: Int64 = 0
    }

    private var answers = ExpiringAnswers<ProxyResolverQuery, ProxyResolution>(limit: most)
    /// Timeouts since the last answer.
    private var silences: [ProxyResolverQuery.Source: Silence] = [:]

    var count: Int { answers.count }

    func answer(to question: ProxyResolverQuery, at now: Int64) -> ProxyResolution? {
        if let answer = answers.answer(to: question, at: now) { return answer }
        guard let silence = silences[question.source], silence.expiry > now, silence.count >= Self.patience else {
            return nil
        }
        return .silence
    }

    mutating func remember(_ answer: ProxyResolution, to question: ProxyResolverQuery, at now: Int64) {
        if answer == .silence {
            silences = silences.filter { $0.value.expiry > now }
            silences[question.source, default: Silence()].count += 1
            silences[question.source]?.expiry = now + TimeLimits.standard.proxyAnswerLifetime
        } else if !silences.isEmpty {
            silences[question.source] = nil
        }
        answers.set(answer, to: question, until: now + TimeLimits.standard.proxyAnswerLifetime, at: now)
    }

    mutating func forget(_ host: String) { answers.remove { $0.query.host == host } }

    mutating func forgetAll() {
        answers.removeAll()
        silences = [:]
    }
}
