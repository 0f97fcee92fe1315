/// TLS sessions that can be resumed, by peer. Their number is limited for each peer, and so is the number of peers.
struct ResumableSessions<Peer: Hashable, Session: ResumableSession> {
    private var sessions: [Peer: [Session]] = [:]

    private static var mostPeers: Int { 256 }
    private static var mostPerPeer: Int { 4 }

    /// The most recent session that has not expired.
    ///
    /// - Parameter now: Seconds since 1970.
    mutating func take(for peer: Peer, at now: Int64) -> Session? {
        while let last = sessions[peer]?.last {
            if last.isSingleUse || last.expiry <= now { sessions[peer]?.removeLast() }
            if last.expiry > now { return last }
        }
        return nil
    }

    mutating func keep(_ session: Session, for peer: Peer) {
        if sessions.count >= Self.mostPeers, sessions[peer] == nil { sessions = [:] }
        sessions[peer, default: []].append(session)
        if let count = sessions[peer]?.count, count > Self.mostPerPeer { sessions[peer]?.removeFirst() }
    }
}

/// A session that a server may resume.
protocol ResumableSession {
    /// Whether it must be offered only once, so that connections cannot be linked (RFC 8446 appendix C.4).
    var isSingleUse: Bool { get }
    /// Seconds since 1970.
    var expiry: Int64 { get }
}
