internal import LoadingSemantics

/// Recent answers of PAC scripts and of the desktop's settings. A script that timed out several times in a row is not
/// run for a while, for any query, because each query would take as long. One timeout is not enough: a server may
/// redirect to a URL that is made to delay the script.
struct ProxyResolutionCache: ResolverCache {
    static let most = 256
    /// The number of timeouts in a row after which a script is not run for a while.
    static let mostTimeouts = 3

    private struct Timeouts {
        var count = 0
        /// When the last timeout expires.
        var expiry: Int64 = 0
    }

    private var answers = ExpiringAnswers<ProxyResolverQuery, ProxyResolution>(limit: most)
    /// Timeouts since the last answer.
    private var timeouts: [ProxyResolverQuery.Source: Timeouts] = [:]

    var count: Int { answers.count }

    func answer(to question: ProxyResolverQuery, at now: Int64) -> ProxyResolution? {
        if let answer = answers.answer(to: question, at: now) { return answer }
        guard let recent = timeouts[question.source], recent.expiry > now, recent.count >= Self.mostTimeouts else {
            return nil
        }
        return .timedOut
    }

    mutating func remember(_ answer: ProxyResolution, to question: ProxyResolverQuery, at now: Int64) {
        if answer == .timedOut {
            timeouts = timeouts.filter { $0.value.expiry > now }
            timeouts[question.source, default: Timeouts()].count += 1
            timeouts[question.source]?.expiry = now + TimeLimits.standard.proxyAnswerLifetime
        } else if !timeouts.isEmpty {
            timeouts[question.source] = nil
        }
        answers.set(answer, to: question, until: now + TimeLimits.standard.proxyAnswerLifetime, at: now)
    }

    mutating func forget(_ host: String) { answers.remove { $0.query.host == host } }

    mutating func forgetAll() {
        answers.removeAll()
        timeouts = [:]
    }
}
