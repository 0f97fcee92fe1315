/// Receives the events of a session. The first call of `peerSettingsChanged` means that the peer does speak HTTP/2.
package protocol HTTP2SessionObserver: HTTPStreamObserver {
    /// No request can be submitted any more. Streams above `lastStream` are reported as refused next.
    func peerIsGoingAway(lastStream: Int64, code: HTTP2ErrorCode)
    func receivedPingAnswer(_ payload: UInt64)
}
