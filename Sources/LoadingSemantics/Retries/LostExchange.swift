/// A request whose connection was lost before its response began.
package struct LostExchange: Sendable, Equatable {
    /// How far it had come.
    package enum Progress: Sendable, Equatable {
        /// No byte of it was given to the connection.
        case unsent
        /// The server has said that it did not look at it: REFUSED_STREAM, or a GOAWAY with a lower stream (CONN-4); or it has
        /// ended the connection before any of it had come (CONN-10).
        case refused
        case sent
        /// At least one byte of the response has come.
        case answered
    }

    package var method: String
    package var progress: Progress
    /// Whether the connection has carried another request, or the server answers others, so that it may have been closed for
    /// other reasons than this one.
    package var isReusedConnection: Bool
    /// True without a body; a stream that has been read from cannot be replayed.
    package var isBodyReplayable: Bool
    /// How often this request has been tried, this time included. Not counted are tries that the server has not processed, and
    /// those before that are `lossesAmongOthers`.
    package var attempts: Int
    /// How often this request, when it may have been processed, was lost while the server answered others, this time included.
    package var lossesAmongOthers: Int
    /// How often in a row, this time included, the server has refused it and processed no other request meanwhile.
    package var refusals: Int
    /// Whether the server has answered others since this request was lost before, or was begun.
    package var isServing: Bool

    package init(
        method: String, progress: Progress, isReusedConnection: Bool, isBodyReplayable: Bool, attempts: Int,
        lossesAmongOthers: Int, refusals: Int, isServing: Bool
    ) {
        self.method = method
        self.progress = progress
        self.isReusedConnection = isReusedConnection
        self.isBodyReplayable = isBodyReplayable
        self.attempts = attempts
        self.lossesAmongOthers = lossesAmongOthers
        self.refusals = refusals
        self.isServing = isServing
    }
}
