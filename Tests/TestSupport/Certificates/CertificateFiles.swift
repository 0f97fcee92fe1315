package import Foundation

/// An identity and its root as PEM files, for programs that read certificates from disk.
package struct CertificateFiles: Sendable {
    private let directory: TemporaryDirectory

    /// The root certificate, which clients trust.
    package var root: URL { directory.file("root.pem") }
    /// The identity's certificate, then the intermediates.
    package var chain: URL { directory.file("chain.pem") }
    package var privateKey: URL { directory.file("key.pem") }

    package init(_ identity: TestIdentity, of authority: TestCertificateAuthority) throws {
        directory = try TemporaryDirectory()
        try directory.write(authority.root.pem, to: "root.pem")
        try directory.write(identity.chainPEM, to: "chain.pem")
        try directory.write(identity.privateKey.pem, to: "key.pem")
    }
}
