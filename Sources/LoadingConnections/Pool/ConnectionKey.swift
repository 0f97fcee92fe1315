internal import LoadingSemantics
package import LoadingTransport

/// The key of a connection: scheme class, host and port (RFC 6454), and whatever else must match. Two requests may
/// share a connection if their keys are equal.
package struct ConnectionKey: Hashable, Sendable {
    /// Whether the connection uses TLS.
    package let isSecure: Bool
    /// Lower-case name, or an address literal without brackets.
    package let host: String
    package let port: UInt16
    /// The identity that the connection authenticates, for schemes that authenticate a connection and not a request
    /// (AUTH-19); 0 for none.
    package let identity: UInt64
    /// Whether only HTTP/1.1 may be negotiated. Such a connection carries one request at a time. It can be reserved,
    /// switched to another protocol, and authenticated as a whole.
    package var needsHTTP1: Bool
    /// The connection's requirements on the network.
    package let service: NetworkService
    /// How the connection uses a proxy; nil if it uses none.
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

    /// The key of the host that a socket is connected to: the proxy of a tunnel, or else this host.
    var firstHop: ConnectionKey {
        guard case .tunnel(let proxy) = proxyMode else { return self }
        return ConnectionKey(
            isSecure: proxy.kind == .https, host: proxy.host, port: proxy.port, needsHTTP1: true, service: service)
    }

    /// Written out, because the derived form copies both keys.
    package static func == (left: ConnectionKey, right: ConnectionKey) -> Bool {
        guard left.port == right.port, left.isSecure == right.isSecure, left.needsHTTP1 == right.needsHTTP1,
            left.identity == right.identity, left.service == right.service, left.host == right.host
        else { return false }
        if case (nil, nil) = (left.proxyMode, right.proxyMode) { return true }
        return left.proxyMode == right.proxyMode
    }

    /// What distinguishes most keys; keys that differ in nothing else are rare.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(host)
        hasher.combine(port)
        hasher.combine(identity)
    }

    var hostPort: HostPort { HostPort(host, port) }

    /// Whether one connection may carry all requests in parallel (CONN-2).
    var mayShare: Bool { isSecure && !needsHTTP1 }
}
