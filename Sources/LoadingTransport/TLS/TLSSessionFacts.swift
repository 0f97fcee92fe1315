/// The negotiated parameters of a connection (MET-10).
package struct TLSSessionFacts: Equatable, Sendable {
    package let version: TLSVersion
    /// The number in IANA's registry.
    package let cipherSuite: UInt16
    /// The protocol selected by ALPN.
    package let applicationProtocol: String?
    package let isResumed: Bool
    /// The peer's certificates in DER, the leaf first. For a resumed session, those of its first handshake.
    package let peerCertificates: [[UInt8]]

    package init(
        version: TLSVersion, cipherSuite: UInt16, applicationProtocol: String?, isResumed: Bool,
        peerCertificates: [[UInt8]]
    ) {
        self.version = version
        self.cipherSuite = cipherSuite
        self.applicationProtocol = applicationProtocol
        self.isResumed = isResumed
        self.peerCertificates = peerCertificates
    }
}
