/// Whether a request is sent again when its connection is lost (CONN-10, CONN-4).
package enum RetryRules {
    /// A server that closes every connection must not be asked for ever.
    package static let maximumAttempts = 3
    /// The same of one that answers others meanwhile: it takes few requests on each connection, and closes so that what it says
    /// of that is lost. It may also be the request that has it close.
    private static let maximumLossesAmongOthers = 10

    /// How many refusals in a row by a server that processes no request at all are borne. The first two are answered at once,
    /// each of the others after a longer pause; after the last the request fails.
    private static let maximumRefusals = 9

    private static func pause(after refusals: Int, _ limits: TimeLimits) -> Int64? {
        refusals > 2 ? min(limits.firstRetryPause << Int64(refusals - 3), limits.longestRetryPause) : nil
    }

    /// A request that the server has not processed goes out again as often as it takes, while the server answers others: each
    /// round leaves fewer that wait. A server that answers none is asked ever less often, and then no more.
    ///
    /// - Parameter error: What the task fails with if it is not retried.
    package static func decide(
        _ lost: LostExchange, error: LoadError = .networkConnectionLost, limits: TimeLimits = .standard
    ) -> RetryDecision {
        switch lost.progress {
        case .unsent where lost.isServing: return .retry
        case .unsent: return lost.attempts < maximumAttempts ? .retry : .fail(error)
        case .refused:
            guard lost.isBodyReplayable else { return .fail(error) }
            if lost.isServing { return .retry }
            guard lost.refusals <= maximumRefusals else { return .fail(error) }
            return pause(after: lost.refusals, limits).map { .retryAfter($0) } ?? .retry
        // On a new connection a close without an answer is the server's answer, and asking again only doubles the load.
        case .sent:
            let isSafe = lost.isReusedConnection && RequestMethod.isIdempotent(lost.method) && lost.isBodyReplayable
            let mayGoOn =
                lost.isServing
                ? lost.lossesAmongOthers < maximumLossesAmongOthers : lost.attempts < maximumAttempts
            return isSafe && mayGoOn ? .retry : .fail(error)
        case .answered: return .fail(error)
        }
    }
}
