/// A request whose connection was lost before its response began.
package struct LostExchange: Sendable, Equatable {
    /// How far it had come.
    package enum Progress: Sendable, Equatable {
        /// No byte of it was given to the connection.
        case unsent
        /// The server has said that it did not look at it: REFUSED_STREAM, or a GOAWAY with a lower stream (CONN-4).
        case refused
        case sent
        /// At least one byte of the response has come.
        case answered
    }

    package var method: String
    package var progress: Progress
    /// Whether the connection had served another request before, and so may just have been closed for idleness.
    package var isReusedConnection: Bool
    /// True without a body; a stream that has been read from cannot be replayed.
    package var isBodyReplayable: Bool
    /// How often this request has been tried, this time included.
    package var attempts: Int

    package init(
        method: String, progress: Progress, isReusedConnection: Bool, isBodyReplayable: Bool, attempts: Int
    ) {
        self.method = method
        self.progress = progress
        self.isReusedConnection = isReusedConnection
        self.isBodyReplayable = isBodyReplayable
        self.attempts = attempts
    }
}

package enum RetryDecision: Sendable, Equatable {
    /// On a new connection: another idle one may be as stale.
    case retry
    case fail(LoadError)
}

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
