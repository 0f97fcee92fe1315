package import LoadingProtocols
package import LoadingSemantics

/// One request to send and its response to read, as a connection carries it. Confined to the connection's loop.
///
/// Copies share their values until one is changed: a request passes through several stages, which rarely change it.
package struct ExchangeRequest {
    private var values: Values

    /// Reached through the request alone: exclusive access to the request protects the values, and only an instance
    /// with a single owner is changed. It is therefore not checked again for each of them.
    private final class Values {
        @exclusivity(unchecked) var method: String
        @exclusivity(unchecked) var connectProtocol: String?
        @exclusivity(unchecked) var target: HTTP1RequestTarget
        @exclusivity(unchecked) var fields: HTTPFields
        @exclusivity(unchecked) var defaults: HTTPFields
        @exclusivity(unchecked) var body: RequestBody
        @exclusivity(unchecked) var expectsContinue: Bool
        @exclusivity(unchecked) var asksToClose: Bool

        init(
            method: String, connectProtocol: String?, target: HTTP1RequestTarget, fields: HTTPFields,
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

        convenience init(copying other: Values) {
            self.init(
                method: other.method, connectProtocol: other.connectProtocol, target: other.target,
                fields: other.fields, defaults: other.defaults, body: other.body,
                expectsContinue: other.expectsContinue, asksToClose: other.asksToClose)
        }
    }

    package init(
        method: String, connectProtocol: String? = nil, target: HTTP1RequestTarget, fields: HTTPFields,
        defaults: HTTPFields, body: RequestBody, expectsContinue: Bool, asksToClose: Bool
    ) {
        values = Values(
            method: method, connectProtocol: connectProtocol, target: target, fields: fields, defaults: defaults,
            body: body, expectsContinue: expectsContinue, asksToClose: asksToClose)
    }

    /// The values to change: copied first if another request shares them.
    private mutating func owned() -> Values {
        if !isKnownUniquelyReferenced(&values) { values = Values(copying: values) }
        return values
    }

    package var method: String {
        get { values.method }
        set { owned().method = newValue }
    }

    /// The protocol of an extended CONNECT (RFC 8441, RFC 9220), as `websocket`.
    /// `HTTPExchangeStream.allowsExtendedConnect` must be true for it.
    ///
    /// The request body is what this side sends through the tunnel: a source without a length, which may deliver at any
    /// time. Nothing of it is sent before a 2xx response, whose body is what the server sends.
    package var connectProtocol: String? {
        get { values.connectProtocol }
        set { owned().connectProtocol = newValue }
    }

    package var target: HTTP1RequestTarget {
        get { values.target }
        set { owned().target = newValue }
    }

    /// The Host field, and the fields that the caller set.
    package var fields: HTTPFields {
        get { values.fields }
        _modify { yield &owned().fields }
    }

    /// The default fields, which every request of the session carries.
    package var defaults: HTTPFields {
        get { values.defaults }
        set { owned().defaults = newValue }
    }

    package var body: RequestBody {
        get { values.body }
        set { owned().body = newValue }
    }

    /// Whether the fields request `100 Continue` before the body is sent.
    package var expectsContinue: Bool {
        get { values.expectsContinue }
        set { owned().expectsContinue = newValue }
    }

    /// Whether the fields request that the connection closes after the response.
    package var asksToClose: Bool {
        get { values.asksToClose }
        set { owned().asksToClose = newValue }
    }
}
