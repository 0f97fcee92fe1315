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

    private static let immediateRetriesWhileServing = 4

    private static func pause(after refusals: Int, _ limits: TimeLimits) -> Int64? {
        refusals > 2 ? min(limits.firstRetryPause << Int64(refusals - 3), limits.longestRetryPause) : nil
    }

    /// The same while the server answers others. The first retries are immediate, because each round usually leaves
    /// fewer requests waiting. Later ones pause, because the server may refuse this request forever.
    private static func pauseWhileServing(after times: Int, _ limits: TimeLimits) -> Int64? {
        times > immediateRetriesWhileServing
            ? min(
                limits.firstRetryPauseWhileServing << Int64(min(times - immediateRetriesWhileServing - 1, 16)),
                limits.longestRetryPause) : nil
    }

    /// Also before the first retry, because the server asks for less.
    private static func pauseAfterOverload(_ lost: LostExchange, _ limits: TimeLimits) -> Int64 {
        let times = max(lost.attempts, lost.lossesWhileServing)
        return min(limits.firstRetryPause << Int64(min(max(times - 1, 0), 16)), limits.longestRetryPause)
    }

    /// A request that was not processed is repeated while the server answers others, until the load's own timeouts, at
    /// increasing intervals. A server that answers none gets retries at increasing intervals, up to a limit.
    ///
    /// - Parameter error: The error of the task if there is no retry.
    package static func decide(
        _ lost: LostExchange, error: LoadError = .networkConnectionLost, limits: TimeLimits = .standard
    ) -> RetryDecision {
        switch lost.progress {
        case .unsent where lost.isServing: return retry(pauseWhileServing(after: lost.unprocessed, limits))
        case .unsent: return lost.attempts < maximumAttempts ? .retry : .fail(error)
        case .refused:
            guard lost.isBodyReplayable else { return .fail(error) }
            if lost.isServing { return retry(pauseWhileServing(after: lost.unprocessed, limits)) }
            guard lost.refusals <= maximumRefusals else { return .fail(error) }
            return retry(pause(after: lost.refusals, limits))
        // On a new connection, closing without a response is the server's answer. A retry would only double the load.
        case .sent:
            let isSafe = lost.isReusedConnection && RequestMethod.isIdempotent(lost.method) && lost.isBodyReplayable
            let mayGoOn =
                lost.isServing
                ? lost.lossesWhileServing < maximumLossesWhileServing : lost.attempts < maximumAttempts
            guard isSafe, mayGoOn else { return .fail(error) }
            return retry(lost.isOverload ? pauseAfterOverload(lost, limits) : nil)
        case .answered: return .fail(error)
        }
    }

    private static func retry(_ pause: Int64?) -> RetryDecision { pause.map { .retryAfter($0) } ?? .retry }
}

/// What happens to a request whose connection was lost.
package enum RetryDecision: Sendable, Equatable {
    /// Retry on a new connection, because another idle one may be stale too.
    case retry
    /// The same after a pause in nanoseconds.
    case retryAfter(Int64)
    case fail(LoadError)
}
