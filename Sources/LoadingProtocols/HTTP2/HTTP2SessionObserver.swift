/// Receives the events of a session's streams.
///
/// It is called from inside `receive(_:)`, `nextOutput()` and `fail()` only. It may submit, reset, resume, consume and
/// ping meanwhile; `receive` and `nextOutput` do nothing when they are called from here.
package protocol HTTP2SessionObserver: AnyObject {
    func session(_ session: HTTP2Session, receivedInformational head: HTTPStreamResponseHead, on stream: Int32)
    /// The final response begins. If `endsStream`, its end is reported next.
    func session(_ session: HTTP2Session, received head: HTTPStreamResponseHead, endsStream: Bool, on stream: Int32)
    /// The bytes are there during the call only. `consumed(_:on:)` has to be told of each of them sometime.
    func session(_ session: HTTP2Session, receivedBody bytes: UnsafeRawBufferPointer, on stream: Int32)
    /// The response is complete. Trailers were read and dropped.
    func session(_ session: HTTP2Session, endedResponseOn stream: Int32)
    /// The last event of a stream, exactly once; nil if its response is complete.
    func session(_ session: HTTP2Session, closed stream: Int32, with failure: HTTPStreamFailure?)

    func session(
        _ session: HTTP2Session, wantsBodyOf stream: Int32, into buffer: UnsafeMutableRawBufferPointer
    ) -> HTTPStreamBodyRead
    /// The output contains the head of a request, in so many bytes.
    func session(_ session: HTTP2Session, sentHeadOn stream: Int32, byteCount: Int)
    /// The output contains so many bytes of a body, in a frame of so many bytes.
    func session(_ session: HTTP2Session, sentBodyOn stream: Int32, byteCount: Int, frameByteCount: Int)
    /// The output contains the end of a request.
    func session(_ session: HTTP2Session, sentRequestOn stream: Int32)

    /// `maximumConcurrentStreams` or `allowsExtendedConnect` may have changed. The first call means that the peer does
    /// speak HTTP/2.
    func sessionChangedPeerSettings(_ session: HTTP2Session)
    /// No request can be submitted any more. Streams above `lastStream` are told as refused next.
    func sessionIsGoingAway(_ session: HTTP2Session, lastStream: Int32, code: HTTP2ErrorCode)
    func session(_ session: HTTP2Session, receivedPingAnswer payload: UInt64)
}
