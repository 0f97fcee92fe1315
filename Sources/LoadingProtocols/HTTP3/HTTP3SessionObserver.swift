/// Receives the events of a session's streams and of its connection.
///
/// It is called from inside `receive(_:ecn:at:)`, `nextOutput(at:)`, `handleDeadline(at:)` and `fail()` only. It may
/// submit, reset, resume, consume, ping, trust and reject meanwhile; `receive` and `nextOutput` do nothing when they are
/// called from here.
package protocol HTTP3SessionObserver: AnyObject {
    func session(_ session: HTTP3Session, receivedInformational head: HTTPStreamResponseHead, on stream: Int64)
    /// The final response begins. If `endsStream`, its end is reported next.
    func session(
        _ session: HTTP3Session, received head: HTTPStreamResponseHead, endsStream: Bool, on stream: Int64)
    /// The bytes are there during the call only. `consumed(_:on:)` has to be told of each of them sometime.
    func session(_ session: HTTP3Session, receivedBody bytes: UnsafeRawBufferPointer, on stream: Int64)
    /// The response is complete. Trailers were read and dropped.
    func session(_ session: HTTP3Session, endedResponseOn stream: Int64)
    /// The last event of a stream, exactly once; nil if its response is complete.
    func session(_ session: HTTP3Session, closed stream: Int64, with failure: HTTPStreamFailure?)

    func session(
        _ session: HTTP3Session, wantsBodyOf stream: Int64, into buffer: UnsafeMutableRawBufferPointer
    ) -> HTTPStreamBodyRead
    /// The output contains the head of a request, in so many bytes.
    func session(_ session: HTTP3Session, sentHeadOn stream: Int64, byteCount: Int)
    /// The output contains so many bytes of a body, in a frame of so many bytes.
    func session(_ session: HTTP3Session, sentBodyOn stream: Int64, byteCount: Int, frameByteCount: Int)
    /// The output contains the end of a request.
    func session(_ session: HTTP3Session, sentRequestOn stream: Int64)

    /// `maximumConcurrentStreams` has changed.
    func sessionChangedPeerSettings(_ session: HTTP3Session)
    /// No request can be submitted any more. Streams above `lastStream` are told as refused next; -4 means all.
    func sessionIsGoingAway(_ session: HTTP3Session, lastStream: Int64)
    /// The peer has answered since `ping()`.
    func sessionReceivedPingAnswer(_ session: HTTP3Session)

    /// The server's certificates in DER, its own first; those of the first handshake when a session was resumed.
    /// Answered by `trust()` or `reject(alert:)`, now or later. Told once, before `sessionCompletedHandshake`.
    func session(_ session: HTTP3Session, presented chain: [[UInt8]], cipherSuite: UInt16)
    func sessionCompletedHandshake(_ session: HTTP3Session)
    /// A ticket for the next connection. There may be several; each is used once.
    func session(_ session: HTTP3Session, received resumption: HTTP3Resumption)
}
