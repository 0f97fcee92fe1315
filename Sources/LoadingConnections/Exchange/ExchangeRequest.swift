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
