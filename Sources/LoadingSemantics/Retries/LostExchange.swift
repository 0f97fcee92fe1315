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
