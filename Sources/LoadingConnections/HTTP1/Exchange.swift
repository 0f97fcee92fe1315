package import FoundationEssentials
package import LoadingEvents
package import LoadingProtocols
package import LoadingSemantics

/// One request to be sent and its response to be read: what a connection carries. Confined to the connection's loop.
package struct ExchangeRequest {
    package var method: String
    /// Origin-form: path and query.
    package var target: [UInt8]
    package var fields: HTTPFields
    package var body: RequestBody
    package var expectsContinue: Bool

    package init(method: String, target: [UInt8], fields: HTTPFields, body: RequestBody, expectsContinue: Bool) {
        self.method = method
        self.target = target
        self.fields = fields
        self.body = body
        self.expectsContinue = expectsContinue
    }
}

/// Who gets what an exchange brings. Called on the loop; after `exchangeEnded` or `exchangeFailed` nothing comes any
/// more.
package protocol ExchangeObserver: AnyObject {
    func exchangeSentHead(bytes: Int)
    func exchangeSentBody(bytes: Int)
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
    /// The response is complete; `bytes` of its body came over the wire without framing.
    func exchangeEnded()
    func exchangeFailed(_ failure: ExchangeFailure)
}

package struct ExchangeFailure {
    package var error: LoadError
    /// What decides whether the request may go out again (CONN-10).
    package var wasAnythingSent: Bool
    package var wasAnythingReceived: Bool

    package init(error: LoadError, wasAnythingSent: Bool, wasAnythingReceived: Bool) {
        self.error = error
        self.wasAnythingSent = wasAnythingSent
        self.wasAnythingReceived = wasAnythingReceived
    }
}
