import Foundation
import TestSupport
import Testing

@Suite(.needs(.openssl)) struct TestCertificateAuthorityTests {
    @Test("a leaf below the root verifies, and one below an intermediate")
    func aLeafBelowTheRootVerifiesAndOneBelowAnIntermediate() throws {
        let authority = try TestCertificateAuthority()
        #expect(try OpenSSLCommand.verification(of: authority.issue(.localhost), root: authority.root) == "OK")

        let below = try authority.intermediate().intermediate(.authority("Second")).issue(.localhost)
        #expect(below.intermediates.count == 2)
        #expect(try OpenSSLCommand.verification(of: below, root: authority.root) == "OK")
    }

    @Test(
        "a fault in the profile is the one found",
        arguments: [
            (CertificateProfile.localhost.with { $0.validity = .expired }, "certificate has expired"),
            (.localhost.with { $0.validity = .notYetValid }, "certificate is not yet valid"),
            (.client("Somebody"), "unsuitable certificate purpose"),
            (.localhost.with { $0.purposes = [.codeSigning] }, "unsuitable certificate purpose"),
            (.server("elsewhere.test"), "hostname mismatch"),
            (.localhost, "OK"),
        ])
    func aFaultInTheProfileIsTheOneFound(profile: CertificateProfile, finding: String) throws {
        let authority = try TestCertificateAuthority()
        let found = try OpenSSLCommand.verification(
            of: authority.issue(profile), root: authority.root, "-purpose", "sslserver", "-verify_hostname", "localhost"
        )
        #expect(found == finding)
    }

    @Test("a self-signed certificate and a strange root are not trusted")
    func aSelfSignedCertificateAndAStrangeRootAreNotTrusted() throws {
        let authority = try TestCertificateAuthority()
        let selfSigned = try TestIdentity.selfSigned(.localhost)
        #expect(
            try OpenSSLCommand.verification(of: selfSigned, root: authority.root) == "self-signed certificate")
        let unknownIdentity = try TestCertificateAuthority(.authority("Other")).issue(.localhost)
        #expect(
            try OpenSSLCommand.verification(of: unknownIdentity, root: authority.root)
                == "unable to get local issuer certificate")
    }

    @Test("weak keys and digests are made as asked") func weakKeysAndDigestsAreMadeAsAsked() throws {
        let authority = try TestCertificateAuthority()
        let weak = try authority.issue(
            .localhost.with {
                $0.key = .rsa(bits: 1024)
                $0.digest = .sha1
            })
        let text = try OpenSSLCommand.text(of: weak.certificate)
        #expect(text.contains("Public-Key: (1024 bit)"))
        #expect(text.contains("Signature Algorithm: ecdsa-with-SHA1"))
    }

    @Test("names are written as what they are") func namesAreWrittenAsWhatTheyAre() throws {
        let authority = try TestCertificateAuthority()
        let named = try authority.issue(.server("*.example.test", "127.0.0.1", "::1", .uri("https://a.test")))
        #expect(
            try OpenSSLCommand.text(of: named.certificate).contains(
                "DNS:*.example.test, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1, URI:https://a.test"))
        let old = try authority.issue(.serverByCommonName("old.test"))
        let text = try OpenSSLCommand.text(of: old.certificate)
        #expect(text.contains { $0.replacing(" = ", with: "=") == "Subject: CN=old.test" })
        #expect(!text.contains("X509v3 Subject Alternative Name:"))
    }

    @Test("the archive opens with its password and holds the chain")
    func theArchiveOpensWithItsPasswordAndHoldsTheChain() throws {
        let authority = try TestCertificateAuthority()
        let client = try authority.intermediate().issue(.client("Somebody"))
        let directory = try TemporaryDirectory()
        let file = try directory.write(client.pkcs12(password: "secret"), to: "client.p12").path
        let output = try OpenSSLCommand.run(["pkcs12", "-in", file, "-passin", "pass:secret", "-nodes"])
        let subjects = output.split(separator: "\n").filter { $0.hasPrefix("subject=") }
        // OpenSSL 3.5 writes no spaces there.
        #expect(
            subjects.map { $0.replacing(" = ", with: "=") } == ["subject=CN=Somebody", "subject=CN=Test Intermediate"])
        #expect(output.contains("BEGIN PRIVATE KEY"))
    }

    @Test("the files go with the last reference") func theFilesGoWithTheLastReference() throws {
        let authority = try TestCertificateAuthority()
        var files: CertificateFiles? = try CertificateFiles(authority.issue(.localhost), of: authority)
        let root = try #require(files).root
        #expect(try String(contentsOf: root, encoding: .utf8) == authority.root.pem)
        files = nil
        #expect(!FileManager.default.fileExists(atPath: root.path))
    }
}
