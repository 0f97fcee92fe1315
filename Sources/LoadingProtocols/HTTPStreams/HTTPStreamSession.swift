/// The client's side of one connection of HTTP/2 or HTTP/3, as far as both are used in the same manner.
package protocol HTTPStreamSession: AnyObject {
    /// The peer's limit of open streams, as far as it is known.
    var maximumConcurrentStreams: Int { get }
    /// Streams that were submitted and are not closed.
    var openStreamCount: Int { get }
    /// Whether a request that is submitted now is sent at once.
    var mayOpenStream: Bool { get }
    /// So much is unread that the connection's window is closed until a reader consumes some.
    var isFull: Bool { get }
    /// Whether the peer's settings allow extended CONNECT (RFC 8441, RFC 9220). False before they have arrived.
    var allowsExtendedConnect: Bool { get }

    /// Opens a stream with the next output. Its number identifies the stream in all other calls.
    func submit(_ request: HTTPStreamRequest) throws(HTTPStreamRequestError) -> Int64
    /// Tells the peer of another urgency (RFC 9218), 0 to 7, if it supports that. The `priority` field of a request has
    /// the initial one.
    func setPriority(urgency: Int, isIncremental: Bool, of stream: Int64)
    /// Bytes of a stream's response on the wire, without its heads; until `closed` returns.
    func receivedBodyFrameBytes(on stream: Int64) -> Int
    /// Accepts no more requests. When the open ones have ended, `isFinished` is true.
    func goAway()
    /// The connection is lost or abandoned: reports every stream as closed. Nothing is sent or received any more.
    func fail()
}
