/// The connection that carried a request.
package struct ConnectionFacts: Sendable, Equatable, Codable {
    /// The ALPN protocol identifier: "http/1.1".
    package var protocolName: String
    package var isReused: Bool
    /// Whether the peer is a proxy, or the connection is a tunnel through one.
    package var isProxied: Bool
    /// Whether it is a Multipath TCP connection (RFC 8684).
    package var isMultipath = false
    package var localAddress: String?
    package var localPort: Int?
    package var remoteAddress: String?
    package var remotePort: Int?
    /// 0x0303 for TLS 1.2, 0x0304 for TLS 1.3; nil without TLS.
    package var tlsVersion: UInt16?
    /// The number in IANA's registry.
    package var tlsCipherSuite: UInt16?

    package init(
        protocolName: String, isReused: Bool, isProxied: Bool, localAddress: String?, localPort: Int?,
        remoteAddress: String?,
        remotePort: Int?, tlsVersion: UInt16?, tlsCipherSuite: UInt16?
    ) {
        self.protocolName = protocolName
        self.isReused = isReused
        self.isProxied = isProxied
        self.localAddress = localAddress
        self.localPort = localPort
        self.remoteAddress = remoteAddress
        self.remotePort = remotePort
        self.tlsVersion = tlsVersion
        self.tlsCipherSuite = tlsCipherSuite
    }
}
