/// Whether a request is sent again when its connection is lost (CONN-10, CONN-4).
package enum RetryRules {
    /// A server that closes every connection must not be asked for ever.
    package static let maximumAttempts = 3

    /// - Parameter error: What the task fails with if it is not retried.
    package static func decide(_ lost: LostExchange, error: LoadError = .networkConnectionLost) -> RetryDecision {
        if lost.attempts >= maximumAttempts { return .fail(error) }
        let isSafe =
            switch lost.progress {
            case .unsent, .refused: true
            // On a fresh connection a silent close is the server's answer, and asking again only doubles the load.
            case .sent: lost.isReusedConnection && RequestMethod.isIdempotent(lost.method)
            case .answered: false
            }
        return isSafe && (lost.isBodyReplayable || lost.progress == .unsent) ? .retry : .fail(error)
    }
}
