internal import LoadingSemantics
package import LoadingTransport

/// Where a connection leads: scheme class, host and port (RFC 6454). Two requests may share a connection when their
/// origins are equal.
package struct ConnectionKey: Hashable, Sendable {
    /// Whether TLS is spoken.
    package let isSecure: Bool
    /// Lower-case name, or an address literal without brackets.
    package let host: String
    package let port: UInt16
    /// Whose connections these are, for schemes that prove a connection to be somebody's and not a request (AUTH-19); 0
    /// for nobody's.
    package let identity: UInt64
    /// Whether nothing but HTTP/1.1 may be spoken: one request at a time, and a connection that can be held, switched to
    /// another protocol, and proved to be somebody's.
    package var needsHTTP1: Bool
    /// What the connection wants of the network.
    package let service: NetworkService
    /// How a proxy comes into it, if one does.
    package let proxyMode: ProxyMode?

    package init(
        isSecure: Bool, host: String, port: UInt16, identity: UInt64 = 0, needsHTTP1: Bool = false,
        service: NetworkService = .ordinary, proxyMode: ProxyMode? = nil
    ) {
        self.isSecure = isSecure
        self.host = host
        self.port = port
        self.identity = identity
        self.needsHTTP1 = needsHTTP1 || identity != 0
        self.service = service
        self.proxyMode = proxyMode
    }

    /// What a socket is connected to.
    var firstHop: ConnectionKey {
        guard case .tunnel(let proxy) = proxyMode else { return self }
        return ConnectionKey(
            isSecure: proxy.kind == .https, host: proxy.host, port: proxy.port, needsHTTP1: true, service: service)
    }

    var place: HostPort { HostPort(host, port) }

    /// Whether one connection may carry all requests at once (CONN-2).
    var mayShare: Bool { isSecure && !needsHTTP1 }
}
