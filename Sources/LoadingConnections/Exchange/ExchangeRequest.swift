package import LoadingProtocols
package import LoadingSemantics

/// One request to send and its response to read, as a connection carries it. Confined to the connection's loop.
package struct ExchangeRequest {
    package var method: String
    /// The protocol of an extended CONNECT (RFC 8441, RFC 9220), as `websocket`. `HTTPExchangeStream.allowsExtendedConnect`
    /// must be true for it.
    ///
    /// The request body is what this side sends through the tunnel: a source without a length, which may deliver at any time.
    /// Nothing of it is sent before a 2xx response, whose body is what the server sends.
    package var connectProtocol: String?
    package var target: HTTP1RequestTarget
    /// The Host field, and the fields that the caller set.
    package var fields: HTTPFields
    /// The default fields, which every request of the session carries.
    package var defaults: HTTPFields
    package var body: RequestBody
    /// Whether the fields request `100 Continue` before the body is sent.
    package var expectsContinue: Bool
    /// Whether the fields request that the connection closes after the response.
    package var asksToClose: Bool

    package init(
        method: String, connectProtocol: String? = nil, target: HTTP1RequestTarget, fields: HTTPFields,
        defaults: HTTPFields, body: RequestBody, expectsContinue: Bool, asksToClose: Bool
    ) {
        self.method = method
        self.connectProtocol = connectProtocol
        self.target = target
        self.fields = fields
        self.defaults = defaults
        self.body = body
        self.expectsContinue = expectsContinue
        self.asksToClose = asksToClose
    }
}
