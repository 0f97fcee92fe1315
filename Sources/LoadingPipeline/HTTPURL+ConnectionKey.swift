internal import LoadingConnections
internal import LoadingSemantics
internal import LoadingTransport

extension HTTPURL {
    /// - Parameters:
    ///   - identity: The identity of the connections to use; 0 for shared ones.
    ///   - switchesProtocol: Whether the connection may switch to another protocol. It must then use HTTP/1.1, and
    ///     reach the server itself instead of a forwarding proxy.
    ///   - service: The requirements of the connection on the network.
    ///   - proxyIdentity: The identity of the connections to a forwarding proxy.
    func connectionKey(
        identity: UInt64, switchesProtocol: Bool, by route: ProxyRoute, service: NetworkService,
        proxyIdentity: (ProxyServer) -> UInt64
    ) -> ConnectionKey {
        switch route {
        case .through(let proxy) where mayBeForwarded && !switchesProtocol && proxy.forwards:
            ConnectionKey(
                isSecure: proxy.kind == .https, host: proxy.host, port: proxy.port, identity: identity,
                needsHTTP1: true, service: service, proxyMode: .forwarding(proxy, identity: proxyIdentity(proxy)))
        case .through(let proxy):
            ConnectionKey(
                isSecure: scheme.isSecure, host: host, port: port, identity: identity, needsHTTP1: switchesProtocol,
                service: service, proxyMode: .tunnel(proxy))
        case .direct:
            ConnectionKey(
                isSecure: scheme.isSecure, host: host, port: port, identity: identity, needsHTTP1: switchesProtocol,
                service: service)
        }
    }

    /// Whether a proxy can load the URL itself (PROXY-5).
    private var mayBeForwarded: Bool { scheme == .http || scheme == .ftp }
}
