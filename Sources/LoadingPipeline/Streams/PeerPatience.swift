/// How long a peer may take nothing of what there is for it.
struct PeerPatience {
    private let limit: Int64
    private var taken: UInt64
    /// When it was last seen to have taken something.
    private var since: Int64

    /// - Parameters:
    ///   - limit: In nanoseconds.
    ///   - taken: How many bytes it has taken so far.
    init(_ limit: Int64, taken: UInt64, at now: Int64) {
        self.limit = limit
        self.taken = taken
        since = now
    }

    /// When to look again; nil when it is over.
    mutating func nextLook(taken: UInt64, at now: Int64) -> Int64? {
        if taken != self.taken {
            self.taken = taken
            since = now
        }
        let deadline = since &+ limit
        return now < deadline ? deadline : nil
    }
}
