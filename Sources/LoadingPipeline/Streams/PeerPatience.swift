/// The time limit for a peer that accepts none of the pending bytes.
struct PeerPatience {
    private let limit: Int64
    private var taken: UInt64
    /// When the peer last accepted bytes.
    private var since: Int64

    /// - Parameters:
    ///   - limit: In nanoseconds.
    ///   - taken: How many bytes the peer has accepted so far.
    init(_ limit: Int64, taken: UInt64, at now: Int64) {
        self.limit = limit
        self.taken = taken
        since = now
    }

    /// The time of the next check; nil when the limit has passed.
    mutating func nextLook(taken: UInt64, at now: Int64) -> Int64? {
        if taken != self.taken {
            self.taken = taken
            since = now
        }
        let deadline = since &+ limit
        return now < deadline ? deadline : nil
    }
}
