internal import LoadingConnections
internal import LoadingSemantics

extension HTTPURL {
    /// - Parameter identity: Whose connections to use; 0 for nobody's.
    func origin(of identity: UInt64) -> Origin {
        Origin(isSecure: scheme.isSecure, host: host, port: port, identity: identity)
    }
}
