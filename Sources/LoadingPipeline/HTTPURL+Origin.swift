internal import LoadingConnections
internal import LoadingSemantics
internal import LoadingTransport

extension HTTPURL {
    /// - Parameters:
    ///   - identity: Whose connections to use; 0 for nobody's.
    ///   - needsHTTP1: Whether nothing but HTTP/1.1 may be spoken.
    func origin(of identity: UInt64, needsHTTP1: Bool) -> Origin {
        Origin(isSecure: scheme.isSecure, host: host, port: port, identity: identity, needsHTTP1: needsHTTP1)
    }

    /// Whether its host is an address, or this machine by a name that nobody else is asked for.
    package var needsNoNameServer: Bool {
        SocketAddress(literal: host, port: port) != nil || NameResolver.isLocal(host)
    }
}
