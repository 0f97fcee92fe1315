/// The TLS configuration of a server.
///
///     let tls = try TLSServerOptions(authority: authority)                       // for localhost
///     let old = TLSServerOptions(identity).with { $0.maximumVersion = .tls10; $0.minimumVersion = .tls10 }
package struct TLSServerOptions: Sendable {
    /// The raw values are those of the protocol.
    package enum Version: Int, Sendable, CaseIterable {
        case tls10 = 0x0301
        case tls11 = 0x0302
        case tls12 = 0x0303
        case tls13 = 0x0304
    }

    package enum ClientCertificate: Sendable {
        case ignored
        /// Optional client certificates. The authorities are sent in the request and trusted; if empty, any certificate
        /// is accepted.
        case asked(trusting: [TestCertificate])
        case required(trusting: [TestCertificate])
    }

    package var identity: TestIdentity
    /// The certificates after the server's own; nil for the identity's intermediates.
    package var sentChain: [TestCertificate]?
    /// Whether the server has a certificate. Without one only anonymous TLS 1.2 is possible.
    package var showsCertificate = true
    package var minimumVersion = Version.tls12
    package var maximumVersion = Version.tls13
    /// The cipher suites for TLS 1.2 and below, in OpenSSL's notation. `AES128-SHA` has no forward secrecy.
    package var ciphers: String?
    /// The ALPN protocols by preference; if empty, the client's list is ignored.
    package var applicationProtocols: [String] = []
    /// Whether to reject clients without a common ALPN protocol.
    package var requiresApplicationProtocol = false
    package var clientCertificate = ClientCertificate.ignored
    /// The number of session tickets of a TLS 1.3 handshake; 0 disables resumption in all versions.
    package var sessionTickets = 2
    /// The stapled OCSP response.
    package var ocspResponse: [UInt8]?

    package init(_ identity: TestIdentity) {
        self.identity = identity
    }

    /// Options with a new certificate, by default for a server on loopback.
    package init(authority: TestCertificateAuthority, profile: CertificateProfile = .localhost) throws {
        self.init(try authority.issue(profile))
    }

    /// A changed copy.
    package func with(_ change: (inout Self) throws -> Void) rethrows -> Self {
        var copy = self
        try change(&copy)
        return copy
    }
}
