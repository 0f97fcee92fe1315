internal import Foundation

/// The one authority that this process trusts: it stands where the system keeps its roots.
package enum TrustedAuthority {
    private static let made = Result {
        let authority = try TestCertificateAuthority()
        let directory = try TemporaryDirectory()
        let root = try directory.write(authority.root.pem, to: "root.pem")
        // Read when a session makes its first secure connection.
        setenv("SSL_CERT_FILE", root.path, 1)
        setenv("SSL_CERT_DIR", directory.file("none").path, 1)
        return (authority, directory)
    }

    package static var authority: TestCertificateAuthority {
        get throws { try made.get().0 }
    }

    /// A server's certificate that is trusted, for a server on loopback unless the profile says otherwise.
    package static func server(_ profile: CertificateProfile = .localhost) throws -> TLSServerOptions {
        try TLSServerOptions(authority: authority, profile: profile)
    }
}
