/// Receives the events of a session. It may also call `trust()` and `reject(alert:)` meanwhile.
package protocol HTTP3SessionObserver: HTTPStreamObserver {
    /// No request can be submitted any more. Streams above `lastStream` are reported as refused next; -4 means all.
    func peerIsGoingAway(lastStream: Int64)
    /// The peer has answered since `ping()`.
    func receivedPingAnswer()

    /// The server's certificates in DER, its own first; those of the first handshake when a session was resumed.
    /// Answered by `trust()` or `reject(alert:)`, now or later. Told once, before `handshakeCompleted`.
    func received(certificates chain: [[UInt8]], cipherSuite: UInt16)
    func handshakeCompleted()
    /// A ticket for the next connection. There may be several; each is used once.
    func received(_ resumption: HTTP3Resumption)
}
