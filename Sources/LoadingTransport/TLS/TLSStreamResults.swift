/// What a handshake needs next.
package enum TLSHandshakeStep: Sendable {
    case complete
    /// Go on when the descriptor is readable.
    case wantsRead
    /// Go on when the descriptor is writable.
    case wantsWrite
    /// Answer with `TLSStream.decideTrust`, at any time, then go on.
    case wantsTrust(TLSPeer)
    /// Answer with `TLSStream.provideIdentity`, at any time, then go on.
    case wantsIdentity(TLSIdentityRequest)
    case failed(TLSError)
}

/// What became of a read.
package enum TLSReadResult: Equatable, Sendable {
    /// So many bytes, above 0.
    case bytes(Int)
    /// Read again when the descriptor is readable.
    case wouldBlock
    /// Read again when the descriptor is writable.
    case wantsWrite
    /// A server asks for a client certificate in mid-connection. Answer with `TLSStream.provideIdentity`, then read
    /// again.
    case wantsIdentity(TLSIdentityRequest)
    /// The peer has said that it is done.
    case end
    /// The peer closed the connection without saying that it is done: what came may not be all.
    case truncated
    case failed(TLSError)
}

/// What became of a write.
package enum TLSWriteResult: Equatable, Sendable {
    /// So many bytes were taken, perhaps not all. The next write must begin with the first one that was not.
    case bytes(Int)
    /// Write the same bytes again when the descriptor is writable.
    case wouldBlock
    /// Write the same bytes again after the next `TLSStream.read`.
    case wantsRead
    case failed(TLSError)
}
