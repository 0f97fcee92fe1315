/// How a server speaks TLS.
///
///     let tls = try TLSServerOptions(authority: authority)                       // for localhost
///     let old = TLSServerOptions(identity).with { $0.maximumVersion = .tls10; $0.minimumVersion = .tls10 }
package struct TLSServerOptions: Sendable {
    /// The numbers are those of the wire.
    package enum Version: Int, Sendable, CaseIterable {
        case tls10 = 0x0301
        case tls11 = 0x0302
        case tls12 = 0x0303
        case tls13 = 0x0304
    }

    package enum ClientCertificate: Sendable {
        case ignored
        /// Asked for, and the handshake goes on without one. Authorities are named in the request and trusted; with
        /// none, any certificate is taken.
        case asked(trusting: [TestCertificate])
        case required(trusting: [TestCertificate])
    }

    package var identity: TestIdentity
    /// What is sent after the server's own certificate; the identity's intermediates when nil.
    package var sentChain: [TestCertificate]?
    /// Whether the server shows its certificate at all; without one only TLS 1.2 without authentication is left.
    package var showsCertificate = true
    package var minimumVersion = Version.tls12
    package var maximumVersion = Version.tls13
    /// For TLS 1.2 and below, in OpenSSL's notation: `AES128-SHA` has no forward secrecy.
    package var ciphers: String?
    /// ALPN, the best first; with none, the client's list is ignored.
    package var applicationProtocols: [String] = []
    /// Whether a client without a common protocol is turned away.
    package var requiresApplicationProtocol = false
    package var clientCertificate = ClientCertificate.ignored
    /// How many session tickets a TLS 1.3 handshake hands out; 0 makes resumption impossible in every version.
    package var sessionTickets = 2
    /// A response about the server's certificate that is stapled to the handshake.
    package var ocspResponse: [UInt8]?

    package init(_ identity: TestIdentity) {
        self.identity = identity
    }

    /// With a new certificate; the profile's default is that of a server on loopback.
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
