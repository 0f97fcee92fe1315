/// The time limit for a peer that accepts none of the pending bytes.
struct StalledPeerTimeout {
    private let limit: Int64
    private var acknowledged: UInt64
    /// When the peer last accepted bytes.
    private var since: Int64

    /// - Parameters:
    ///   - limit: In nanoseconds.
    ///   - acknowledged: How many bytes the peer has accepted so far.
    init(_ limit: Int64, acknowledged: UInt64, at now: Int64) {
        self.limit = limit
        self.acknowledged = acknowledged
        since = now
    }

    /// The time of the next check; nil when the limit has passed.
    mutating func nextCheck(acknowledged: UInt64, at now: Int64) -> Int64? {
        if acknowledged != self.acknowledged {
            self.acknowledged = acknowledged
            since = now
        }
        let deadline = since &+ limit
        return now < deadline ? deadline : nil
    }
}
