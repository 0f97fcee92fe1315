package import LoadingProtocols
package import LoadingSemantics

/// One request to send and its response to read, as a connection carries it. Confined to the connection's loop.
///
/// Copies share their values until one is changed: a request passes through several stages, which rarely change it.
package struct ExchangeRequest {
    private var storage: Storage

    private struct Values {
        var method: String
        var connectProtocol: String?
        var target: HTTP1RequestTarget
        var fields: HTTPFields
        var defaults: HTTPFields
        var defaultLines: [UInt8]
        var body: RequestBody
        let expectsContinue: Bool
    }

    /// Reached through the request alone: exclusive access to the request protects the values, and only an instance
    /// with a single owner is changed. It is therefore not checked again.
    private final class Storage {
        @exclusivity(unchecked) var values: Values

        init(_ values: Values) { self.values = values }
    }

    package init(
        method: String, connectProtocol: String? = nil, target: HTTP1RequestTarget, fields: HTTPFields,
        defaults: HTTPFields, defaultLines: [UInt8] = [], body: RequestBody, expectsContinue: Bool
    ) {
        storage = Storage(
            Values(
                method: method, connectProtocol: connectProtocol, target: target, fields: fields, defaults: defaults,
                defaultLines: defaultLines, body: body, expectsContinue: expectsContinue))
    }

    /// The storage to change: copied first if another request shares it.
    private mutating func owned() -> Storage {
        if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.values) }
        return storage
    }

    package var method: String {
        get { storage.values.method }
        set { owned().values.method = newValue }
    }

    /// The protocol of an extended CONNECT (RFC 8441, RFC 9220), as `websocket`.
    /// `HTTPExchangeStream.allowsExtendedConnect` must be true for it.
    ///
    /// The request body is what this side sends through the tunnel: a source without a length, which may deliver at any
    /// time. Nothing of it is sent before a 2xx response, whose body is what the server sends.
    package var connectProtocol: String? {
        get { storage.values.connectProtocol }
        set { owned().values.connectProtocol = newValue }
    }

    package var target: HTTP1RequestTarget {
        get { storage.values.target }
        set { owned().values.target = newValue }
    }

    /// The Host field, and the fields that the caller set.
    package var fields: HTTPFields {
        get { storage.values.fields }
        _modify { yield &owned().values.fields }
    }

    /// The default fields, which every request of the session carries.
    package var defaults: HTTPFields {
        get { storage.values.defaults }
        set {
            owned().values.defaults = newValue
            owned().values.defaultLines = []
        }
    }

    /// The lines of `defaults` in HTTP/1.1, which a session makes once; empty if these are others.
    package var defaultLines: [UInt8] { storage.values.defaultLines }

    package var body: RequestBody {
        get { storage.values.body }
        set { owned().values.body = newValue }
    }

    /// Whether the fields request `100 Continue` before the body is sent.
    package var expectsContinue: Bool { storage.values.expectsContinue }
}
