/// How many requests a server takes on one HTTP/2 connection, as far as the ends of its connections have shown (CONN-4).
///
/// A server says so with the GOAWAY that names its last request. One that closes with requests unread loses that, and
/// responses with it: of it there is only how many it has answered, which is too few, so the number grows again where
/// connections end well.
struct RequestLimit: Equatable {
    /// Nil where it is not known, and so there is none.
    private(set) var count: Int?
    /// Whether a connection that has come to it is given up unasked: the server does not say in time that it takes no more.
    private(set) var isFirm = false
    /// The most requests that were answered on a connection that was lost in the midst of others.
    private var answered = 0
    private var losses = 0

    /// One such loss may have had another reason, as that the server was restarted.
    private static let fewLosses = 2
    private static let mostRequests = 10_000

    /// What a GOAWAY says.
    static func told(_ count: Int) -> Self {
        var limit = Self()
        limit.count = count
        return limit
    }

    /// A connection was lost with requests under way, after the server had answered others.
    mutating func lostConnection(after answers: Int) {
        answered = max(answered, answers)
        losses += 1
        guard losses >= Self.fewLosses else { return }
        count = answered
        isFirm = true
    }

    /// All requests of a connection were answered that was given up at this number.
    mutating func connectionEndedWell() {
        guard isFirm, let count else { return }
        self.count = count + max(1, count / 4)
        if count > Self.mostRequests { self = Self() }
    }

    /// Whether so many responses on one connection are more than the losses could be explained by.
    func isDisproved(by answers: Int) -> Bool {
        if isFirm { return false }
        if let count { return answers >= count }
        return answers > 2 * answered + 10
    }
}
