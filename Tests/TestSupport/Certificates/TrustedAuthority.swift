internal import Foundation

/// The certificate authority that this process trusts, installed as the system's root certificates.
package enum TrustedAuthority {
    /// Other files in the folder of root certificates. Only the last one is trusted.
    package enum Other: String, CaseIterable, Sendable {
        case expired
        case weakKey
        case oldSignature

        fileprivate var profile: CertificateProfile {
            .authority("Other Root: \(rawValue)").with {
                switch self {
                case .expired: $0.validity = .expired
                case .weakKey: $0.key = .elliptic("secp224r1")
                case .oldSignature: $0.digest = .sha1
                }
            }
        }
    }

    private static let made = Result {
        let authority = try TestCertificateAuthority()
        var others: [Other: TestCertificateAuthority] = [:]
        for other in Other.allCases { others[other] = try TestCertificateAuthority(other.profile) }
        let directory = try TemporaryDirectory()
        let roots = [authority.root] + others.values.map(\.root)
        let root = try directory.write(roots.map(\.pem).joined(), to: "root.pem")
        // The roots are read at the first TLS connection of a session.
        setenv("SSL_CERT_FILE", root.path, 1)
        setenv("SSL_CERT_DIR", directory.file("none").path, 1)
        return (authority, others, directory)
    }

    package static var authority: TestCertificateAuthority {
        get throws { try made.get().0 }
    }

    package static func other(_ other: Other) throws -> TestCertificateAuthority {
        // There is one for each.
        try made.get().1[other] ?? authority
    }

    /// TLS options with a trusted certificate, by default for a server on loopback.
    package static func server(_ profile: CertificateProfile = .localhost) throws -> TLSServerOptions {
        try TLSServerOptions(authority: authority, profile: profile)
    }
}
