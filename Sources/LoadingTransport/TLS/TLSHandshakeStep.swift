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
