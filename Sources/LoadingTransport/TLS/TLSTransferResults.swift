/// The result of a read.
package enum TLSReadResult: Equatable, Sendable {
    /// At least one byte.
    case bytes(Int)
    /// Read again when the descriptor is readable.
    case wouldBlock
    /// Read again when the descriptor is writable.
    case wantsWrite
    /// The server requests a client certificate after the handshake. Answer with `TLSStream.provideIdentity`, then read
    /// again.
    case wantsIdentity(TLSIdentityRequest)
    /// The peer has sent close_notify.
    case end
    /// The connection was closed without close_notify, so data may be missing.
    case truncated
    case failed(TLSError)
}

/// The result of a write.
package enum TLSWriteResult: Equatable, Sendable {
    /// At least one byte was accepted, perhaps not all. The next write must continue at the first byte that was not.
    case bytes(Int)
    /// Write the same bytes again when the descriptor is writable.
    case wouldBlock
    /// Write the same bytes again after the next `TLSStream.read`.
    case wantsRead
    case failed(TLSError)
}
