package import Foundation

/// An identity and the root behind it as PEM files, for programs that read their certificates from disk.
package struct CertificateFiles: Sendable {
    private let directory: TemporaryDirectory

    /// The root alone: what a client is told to trust.
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
