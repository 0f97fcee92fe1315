/// A request whose connection was lost, or that the server refused, before its response.
package struct LostExchange: Sendable, Equatable {
    /// How much of the exchange took place.
    package enum Progress: Sendable, Equatable {
        /// No byte was written to the connection.
        case unsent
        /// The server declares that it did not process the request: REFUSED_STREAM, or a GOAWAY with a lower stream
        /// (CONN-4); or it closed the connection before any byte of the request (CONN-10).
        case refused
        case sent
        /// At least one byte of the response arrived.
        case answered
    }

    package var method: String
    package var progress: Progress
    /// Whether the connection carried other requests, or the server answers others, so that the cause of the loss may
    /// be unrelated to this request.
    package var isReusedConnection: Bool
    /// True without a body. A stream that was read from cannot be replayed.
    package var isBodyReplayable: Bool
    /// The number of attempts, including this one. Excludes those that the server did not process, and those counted in
    /// `lossesWhileServing`.
    package var attempts: Int
    /// How often the request was lost after it may have been processed while the server answered others, including this
    /// time.
    package var lossesWhileServing: Int
    /// Consecutive refusals, including this one, without another request processed between them.
    package var refusals: Int
    /// How often the server has not processed the request, including this time.
    package var unprocessed: Int
    /// Whether the server has answered other requests since the previous loss, or since the start of this request.
    package var isServing: Bool
    /// Whether the server has given up the request because it has too much to do.
    package var isOverload: Bool

    package init(
        method: String, progress: Progress, isReusedConnection: Bool, isBodyReplayable: Bool, attempts: Int,
        lossesWhileServing: Int, refusals: Int, unprocessed: Int,
        isServing: Bool, isOverload: Bool = false
    ) {
        self.method = method
        self.progress = progress
        self.isReusedConnection = isReusedConnection
        self.isBodyReplayable = isBodyReplayable
        self.attempts = attempts
        self.lossesWhileServing = lossesWhileServing
        self.refusals = refusals
        self.unprocessed = unprocessed
        self.isServing = isServing
        self.isOverload = isOverload
    }
}
