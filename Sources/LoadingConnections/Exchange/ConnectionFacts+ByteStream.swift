internal import LoadingEvents
internal import LoadingTransport

extension ConnectionFacts {
    /// - Parameter protocolName: The ALPN name of what is spoken.
    init(of stream: ByteStream, to origin: ConnectionKey, speaking protocolName: String, isReused: Bool) {
        let local = stream.localAddress
        let remote = stream.remoteAddress
        // TLS that ends at a proxy is none with the server.
        let isForwarded = if case .forwarding = origin.proxyMode { true } else { false }
        let secure = origin.isSecure && !isForwarded ? stream.tls?.session : nil
        self.init(
            protocolName: protocolName, isReused: isReused, isProxied: origin.proxyMode != nil,
            localAddress: local?.description, localPort: local.map { Int($0.port) },
            remoteAddress: remote?.description, remotePort: remote.map { Int($0.port) },
            tlsVersion: secure?.version.rawValue, tlsCipherSuite: secure?.cipherSuite)
        if origin.service.isMultipath { isMultipath = stream.isMultipath }
    }
}
