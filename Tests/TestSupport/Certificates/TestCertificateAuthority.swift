internal import CTestTLS

/// A certificate authority that is created for a test.
///
///     let authority = try TestCertificateAuthority()
///     let server = try authority.issue(.server("localhost", "127.0.0.1"))
///     let old = try authority.issue(.localhost.with { $0.validity = .expired })
///     let below = try authority.intermediate("Test Intermediate").issue(.localhost)
package struct TestCertificateAuthority: Sendable {
    package let identity: TestIdentity
    /// The root certificate of the chain.
    package let root: TestCertificate
    private let isRoot: Bool

    package var certificate: TestCertificate { identity.certificate }

    package init(_ profile: CertificateProfile = .authority("Test Root")) throws {
        identity = try TestIdentity.selfSigned(profile)
        root = identity.certificate
        isRoot = true
    }

    private init(identity: TestIdentity, root: TestCertificate) {
        self.identity = identity
        self.root = root
        isRoot = false
    }

    package func issue(_ profile: CertificateProfile) throws -> TestIdentity {
        try TestIdentity(profile: profile, issuer: identity, intermediates: isRoot ? [] : identity.chain)
    }

    /// An authority below this one.
    package func intermediate(_ profile: CertificateProfile = .authority("Test Intermediate")) throws -> Self {
        Self(identity: try issue(profile), root: root)
    }

    package enum RevocationStatus: Sendable, Hashable {
        case good
        case revoked
        case unknown
    }

    /// A response for stapling (RFC 6961) about a certificate that this authority signed.
    package func ocspResponse(
        for certificate: TestCertificate, status: RevocationStatus, validity: CertificateProfile.Validity = .current
    ) throws -> [UInt8] {
        let number =
            switch status {
            case .good: CTT_OCSP_GOOD
            case .revoked: CTT_OCSP_REVOKED
            case .unknown: CTT_OCSP_UNKNOWN
            }
        let bounds = validity.bounds
        return try takingBytes("make an OCSP response") {
            ctt_make_ocsp_response(
                Int32(number), bounds.notBefore, bounds.notAfter, certificate.der, certificate.der.count,
                identity.certificate.der, identity.certificate.der.count, identity.privateKey.der,
                identity.privateKey.der.count, &$0)
        }
    }
}
