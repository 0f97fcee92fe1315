package import FoundationEssentials
package import LoadingProtocols
package import LoadingSemantics

/// One request to be sent and its response to be read: what a connection carries. Confined to the connection's loop.
package struct ExchangeRequest {
    package var method: String
    package var target: HTTP1RequestTarget
    /// Host, and what the caller set.
    package var fields: HTTPFields
    /// What every request of the session carries.
    package var defaults: HTTPFields
    package var body: RequestBody
    /// The fields ask for `100 Continue` before the body goes out.
    package var expectsContinue: Bool
    /// The fields ask to close the connection after the response.
    package var asksToClose: Bool

    package init(
        method: String, target: HTTP1RequestTarget, fields: HTTPFields, defaults: HTTPFields, body: RequestBody,
        expectsContinue: Bool, asksToClose: Bool
    ) {
        self.method = method
        self.target = target
        self.fields = fields
        self.defaults = defaults
        self.body = body
        self.expectsContinue = expectsContinue
        self.asksToClose = asksToClose
    }
}

/// Who gets what an exchange brings. Called on the loop; after `exchangeEnded` or `exchangeFailed` nothing comes any
/// more.
package protocol ExchangeObserver: AnyObject {
    func exchangeSentHead(bytes: Int)
    /// So much of the body is with the kernel; `onWire` with the framing of its chunks, which alone may be all.
    func exchangeSentBody(bytes: Int, onWire: Int)
    func exchangeSentRequest()
    /// The first byte of the response is here.
    func exchangeStartedResponse()
    func exchangeReceived(informational head: HTTP1ResponseHead)
    func exchangeReceived(head: HTTP1ResponseHead, body: HTTP1BodyLength)
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

package struct ExchangeFailure {
    package var error: LoadError
    /// What decides whether the request may go out again (CONN-10).
    package var safety: HTTP1RetrySafety

    package init(error: LoadError, safety: HTTP1RetrySafety) {
        self.error = error
        self.safety = safety
    }
}
