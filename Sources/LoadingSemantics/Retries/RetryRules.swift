/// Decides whether a request is repeated after a lost connection (CONN-10, CONN-4).
package enum RetryRules {
    /// Bounds the attempts at a server that closes every connection.
    package static let maximumAttempts = 3
    /// The same for a server that answers others meanwhile. It may accept few requests per connection and lose the
    /// announcement when it closes, or this request may be what makes it close.
    private static let maximumLossesWhileServing = 10

    /// The number of consecutive refusals by a server that processes no other request. The first two retries are
    /// immediate, later ones after increasing pauses. Then the request fails.
    private static let maximumRefusals = 9

    private static func pause(after refusals: Int, _ limits: TimeLimits) -> Int64? {
        refusals > 2 ? min(limits.firstRetryPause << Int64(refusals - 3), limits.longestRetryPause) : nil
    }

    /// A request that was not processed is repeated without limit while the server answers others, since each round
    /// leaves fewer requests waiting. A server that answers none gets retries at increasing intervals, up to a limit.
    ///
    /// - Parameter error: The error of the task if there is no retry.
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
        // On a new connection, closing without a response is the server's answer. A retry would only double the load.
        case .sent:
            let isSafe = lost.isReusedConnection && RequestMethod.isIdempotent(lost.method) && lost.isBodyReplayable
            let mayGoOn =
                lost.isServing
                ? lost.lossesWhileServing < maximumLossesWhileServing : lost.attempts < maximumAttempts
            return isSafe && mayGoOn ? .retry : .fail(error)
        case .answered: return .fail(error)
        }
    }
}

/// What happens to a request whose connection was lost.
package enum RetryDecision: Sendable, Equatable {
    /// Retry on a new connection, because another idle one may be stale too.
    case retry
    /// The same after a pause in nanoseconds.
    case retryAfter(Int64)
    case fail(LoadError)
}
