/// Receives the events of a session's streams, in HTTP/2 and HTTP/3 alike.
///
/// It is called only from inside the session's methods that receive, send or fail. It may submit, reset, resume,
/// consume and ping meanwhile; `receive` and `nextOutput` do nothing when they are called from here.
package protocol HTTPStreamObserver: AnyObject {
    func received(informational head: HTTPStreamResponseHead, on stream: Int64)
    /// The final response begins. If `endsStream`, its end is reported next.
    func received(_ head: HTTPStreamResponseHead, endsStream: Bool, on stream: Int64)
    /// The bytes are valid during the call only. Each of them must be passed to `consumed(_:on:)` at some time.
    func received(body bytes: UnsafeRawBufferPointer, on stream: Int64)
    /// The response is complete. Trailers were read and dropped.
    func responseEnded(on stream: Int64)
    /// The last event of a stream, exactly once; nil if its response is complete.
    func closed(_ stream: Int64, with failure: HTTPStreamFailure?)

    func fill(_ buffer: UnsafeMutableRawBufferPointer, withBodyOf stream: Int64) -> HTTPStreamBodyRead
    /// The output contains the head of a request, in so many bytes.
    func sentHead(on stream: Int64, byteCount: Int)
    /// The output contains so many bytes of a body, in a frame of so many bytes.
    func sentBody(on stream: Int64, byteCount: Int, frameByteCount: Int)
    /// The output contains the end of a request.
    func sentRequest(on stream: Int64)

    /// `maximumConcurrentStreams` or `allowsExtendedConnect` may have changed.
    func peerSettingsChanged()
}
