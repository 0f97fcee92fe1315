internal import LoadingConnections
internal import LoadingSemantics
internal import LoadingTransport

extension HTTPURL {
    /// - Parameter identity: Whose connections to use; 0 for nobody's.
    func origin(of identity: UInt64) -> Origin {
        Origin(isSecure: scheme.isSecure, host: host, port: port, identity: identity)
    }

    /// Whether its host is an address, or this machine by a name that nobody else is asked for.
    package var needsNoNameServer: Bool {
        SocketAddress(literal: host, port: port) != nil || NameResolver.isLocal(host)
    }
}
