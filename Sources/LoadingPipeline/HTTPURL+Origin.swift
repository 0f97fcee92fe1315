internal import LoadingConnections
internal import LoadingSemantics
internal import LoadingTransport

extension HTTPURL {
    /// - Parameters:
    ///   - identity: Whose connections to use; 0 for nobody's.
    ///   - needsHTTP1: Whether nothing but HTTP/1.1 may be spoken.
    func origin(of identity: UInt64, needsHTTP1: Bool, by way: ProxyRoute.Way) -> Origin {
        switch way {
        case .through(let proxy) where !scheme.isSecure && !proxy.kind.isSOCKS && !proxy.alwaysTunnels:
            Origin(
                isSecure: proxy.kind == .https, host: proxy.host, port: proxy.port, identity: identity,
                needsHTTP1: true, passage: .forwarding(proxy))
        case .through(let proxy):
            Origin(
                isSecure: scheme.isSecure, host: host, port: port, identity: identity, needsHTTP1: needsHTTP1,
                passage: .tunnel(proxy))
        case .direct:
            Origin(isSecure: scheme.isSecure, host: host, port: port, identity: identity, needsHTTP1: needsHTTP1)
        }
    }

    /// Whether its host is an address, or this machine by a name that nobody else is asked for.
    package var needsNoNameServer: Bool {
        SocketAddress(literal: host, port: port) != nil || NameResolver.isLocal(host)
    }
}
