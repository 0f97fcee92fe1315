package import LoadingSemantics

/// Who gets what an exchange brings. Called on the loop; after `exchangeEnded` or `exchangeFailed` nothing comes any
/// more.
package protocol ExchangeObserver: AnyObject {
    func exchangeSentHead(bytes: Int)
    /// So much of the body is with the kernel; `onWire` with the framing of its chunks, which alone may be all.
    func exchangeSentBody(bytes: Int, onWire: Int)
    func exchangeSentRequest()
    /// In place of `exchangeSentRequest`: it went out before the connection was given for it, in that time.
    func exchangeSentRequestEarly(from start: Int64, until end: Int64)
    /// The first byte of the response is here.
    func exchangeStartedResponse()
    func exchangeReceived(informational head: ResponseHead)
    func exchangeReceived(head: ResponseHead, body: BodyLength)
    /// Bytes of the body, valid only during the call.
    func exchangeReceived(body: UnsafeRawBufferPointer)
    /// Where the next bytes of the body should be read to, `most` of them at the most; nil to get them through
    /// `exchangeReceived(body:)`. Followed by `exchangeFilled(_:)` with how many came.
    func exchangeBuffer(most: Int) -> UnsafeMutableRawBufferPointer?
    func exchangeFilled(_ count: Int)
    /// An empty pipe that the next bytes of the body may go into unseen; nil to get them otherwise. Followed by
    /// `exchangeFilledPipe(_:)` when some went.
    func exchangePipe() -> Int32?
    func exchangeFilledPipe(_ count: Int)
    /// The response is complete; its body took so many bytes on the wire, framing included.
    func exchangeEnded(bodyBytes: Int64)
    func exchangeFailed(_ failure: ExchangeFailure)
}

extension ExchangeObserver {
    package func exchangeSentRequestEarly(from start: Int64, until end: Int64) { exchangeSentRequest() }
}

/// Why an exchange came to nothing.
package struct ExchangeFailure {
    package var error: LoadError
    /// What decides whether the request may go out again (CONN-10, CONN-4).
    package var progress: LostExchange.Progress
    /// The server takes this request over HTTP/1.1 only.
    package var requiresHTTP1: Bool
    /// The connection is lost, and the server may be reached in another way.
    package var hasOtherWay: Bool
    /// Whether the connection has carried no other request.
    package var wasAlone: Bool
    /// When the server last answered anybody over such connections, by the loop's clock; 0 if that is not known.
    package var lastAnswer: Int64

    package init(
        error: LoadError, progress: LostExchange.Progress, requiresHTTP1: Bool = false, hasOtherWay: Bool = false,
        wasAlone: Bool = true, lastAnswer: Int64 = 0
    ) {
        self.error = error
        self.progress = progress
        self.requiresHTTP1 = requiresHTTP1
        self.hasOtherWay = hasOtherWay
        self.wasAlone = wasAlone
        self.lastAnswer = lastAnswer
    }
}
