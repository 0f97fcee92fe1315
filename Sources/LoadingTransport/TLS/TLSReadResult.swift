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
