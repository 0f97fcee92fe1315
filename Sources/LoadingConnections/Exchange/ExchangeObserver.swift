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
