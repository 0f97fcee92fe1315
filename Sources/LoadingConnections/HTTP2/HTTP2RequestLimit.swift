/// The number of requests that a server accepts on one HTTP/2 connection, learned from how its connections ended
/// (CONN-4).
///
/// A server announces the limit with a GOAWAY that names its last request. A server that closes its socket with unread
/// requests loses the GOAWAY and some responses. Then only the number of answered requests is known, which is too low,
/// so the limit is raised when a connection ends without a loss.
struct HTTP2RequestLimit: Equatable {
    /// Nil if no limit is known.
    private(set) var count: Int?
    /// Whether a connection is retired when it reaches the limit, because the server's announcement arrives too late.
    private(set) var isFirm = false
    /// The highest number of requests that were answered on a connection that was lost with others in flight.
    private var answered = 0
    private var losses = 0

    /// A single loss may have another cause, such as a restart of the server.
    private static let fewLosses = 2
    private static let mostRequests = 10_000

    /// The limit from a GOAWAY.
    static func announced(_ count: Int) -> Self {
        var limit = Self()
        limit.count = count
        return limit
    }

    /// The server ended a connection with requests in flight, after it had answered others.
    mutating func lostConnection(after answers: Int) {
        answered = max(answered, answers)
        losses += 1
        guard losses >= Self.fewLosses else { return }
        count = answered
        isFirm = true
    }

    /// A connection was retired at this limit, and all its requests were answered.
    mutating func connectionEndedWell() {
        guard isFirm, let count else { return }
        self.count = count + max(1, count / 4)
        if count > Self.mostRequests { self = Self() }
    }

    /// Whether the losses cannot be the result of a limit, because the server sent so many responses on one connection.
    func isDisproved(by answers: Int) -> Bool {
        if isFirm { return false }
        if let count { return answers >= count }
        return answers > 2 * answered + 10
    }
}
