/// The client's side of one HTTP/2 connection (RFC 9113).
package final class HTTP2Session {
    private weak var observer: (any HTTP2SessionObserver)?

    package init(configuration: HTTP2Configuration = HTTP2Configuration(), observer: any HTTP2SessionObserver) {
        self.observer = observer
    }

    // MARK: What may be asked

    /// How many streams the peer wants to have open at a time.
    package var maximumConcurrentStreams: Int { 0 }
    /// Submitted and not yet closed.
    package var openStreamCount: Int { 0 }
    /// Whether the peer takes CONNECT with a protocol (RFC 8441).
    package var allowsExtendedConnect: Bool { false }
    /// The peer or this side has sent GOAWAY.
    package var isGoingAway: Bool { false }
    /// Whether a request that is submitted now goes out at once.
    package var mayOpenStream: Bool { false }
    package var wantsOutput: Bool { false }
    /// Nothing is left to be sent or read: the connection can be closed.
    package var isFinished: Bool { false }
    /// Bytes of the DATA frames of a stream that have come whole, with their heads and padding; until `closed` returns.
    package func receivedBodyFrameBytes(on stream: Int32) -> Int { 0 }

    // MARK: Requests

    package func submit(_ request: HTTP2Request) throws(HTTP2RequestError) -> Int32 { throw .notAllowed }
    package func resumeBody(of stream: Int32) {}
    /// The reader has done with so many bytes of a body: of a stream that may be closed by now, too.
    ///
    /// Opens the windows of stream and connection, and lets them grow, as `HTTP2Windows` has it.
    package func consumed(_ count: Int, on stream: Int32) {}
    /// Ends a stream. No more is told of it but `closed`; bytes of it that were not consumed count as consumed.
    package func reset(_ stream: Int32, code: HTTP2ErrorCode) {}
    /// Tells the peer of a new urgency (RFC 9218), 0 to 7, if it listens to that.
    package func setPriority(urgency: Int, isIncremental: Bool, of stream: Int32) {}
    package func ping(_ payload: UInt64) {}
    /// Takes no more requests. Those that are there run to their end, then `isFinished`.
    package func goAway() {}
    /// The connection is lost: every stream is told as closed.
    package func fail() {}

    // MARK: Bytes

    /// Takes what came from the peer. After an error `nextOutput()` gives the last words, if there are any, and the
    /// connection is to be closed; `fail()` tells the streams.
    package func receive(_ bytes: UnsafeRawBufferPointer) throws(HTTP2Error) {}
    /// What is to be sent next, in pieces of up to about 64 KiB; nil when there is nothing. The bytes stay where they
    /// are until the next call of this method, whatever else is called.
    package func nextOutput() throws(HTTP2Error) -> UnsafeRawBufferPointer? { nil }
}
