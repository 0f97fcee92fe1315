import Foundation
import TestSupport
import Testing

/// `--tls-min`, `--tls-max` and their kin, and `--key`.
@Suite struct TLSOptionTests {
    // TLS-11
    @Test func versions() throws {
        let authority = try TestCertificateAuthority()
        let old = try ScriptedServer.answering(
            .text("1.2"), tls: TLSServerOptions(authority: authority).with { $0.maximumVersion = .tls12 })
        defer { old.stop() }
        let new = try ScriptedServer.answering(
            .text("1.3"), tls: TLSServerOptions(authority: authority).with { $0.minimumVersion = .tls13 })
        defer { new.stop() }
        func run(_ server: ScriptedServer, _ words: String...) throws -> RunningCommand.Outcome {
            let outcome = try RunningCommand.run(["-sk", server.url(host: "localhost").absoluteString] + words)
            return RunningCommand.Outcome(exit: outcome.exit, output: outcome.output)
        }
        let good = { RunningCommand.Outcome(exit: .code(0), output: $0) }
        let bad = RunningCommand.Outcome(exit: .code(35), output: "")
        #expect(try run(old, "--tls-min", "1.2") == good("1.2"))
        #expect(try run(old, "--tlsv1.2") == good("1.2"))
        #expect(try run(old, "--tlsv1") == good("1.2"))
        #expect(try run(old, "--tlsv1.3") == bad)
        #expect(try run(old, "--tls-min", "1.3") == bad)
        #expect(try run(new, "--tls-max", "1.2") == bad)
        #expect(try run(new, "--tls-max", "1.3") == good("1.3"))
        #expect(try run(new, "--tls-max", "default") == good("1.3"))
    }

    @Test func keyInAFileOfItsOwn() throws {
        let folder = try TemporaryDirectory()
        let authority = try TestCertificateAuthority()
        let identity = try authority.issue(.client("somebody"))
        let server = try ScriptedServer.answering(
            .text("hello"),
            tls: TLSServerOptions(authority: authority).with {
                $0.clientCertificate = .required(trusting: [authority.root])
            })
        defer { server.stop() }
        let certificate = try folder.write(identity.chainPEM, to: "certificate.pem").path
        let key = try folder.write(identity.privateKey.pem, to: "key.pem").path
        let url = server.url(host: "localhost").absoluteString
        #expect(try RunningCommand.run(["-sk", "--cert", certificate, "--key", key, url]).output == "hello")
        #expect(try RunningCommand.run(["-sk", "--cert", certificate, url]).exit == .code(58))
        let archive = try folder.write(identity.pkcs12(password: "p"), to: "a.p12").path
        #expect(try RunningCommand.run(["-sk", "--cert", archive, "--pass", "p", url]).output == "hello")
        #expect(server.connections.compactMap { $0.handshake?.clientCertificate }.count == 2)
    }

    @Test("an old archive, with and without OpenSSL's legacy module", .needs(.openssl)) func oldArchive() throws {
        let authority = try TestCertificateAuthority()
        let server = try ScriptedServer.answering(
            .text("hello"),
            tls: TLSServerOptions(authority: authority).with {
                $0.clientCertificate = .required(trusting: [authority.root])
            })
        defer { server.stop() }
        let command = try CommandHarness(server)
        let files = try CertificateFiles(authority.issue(.client("somebody")), of: authority)
        _ = try ChildProcess.run(
            "/usr/bin/openssl",
            [
                "pkcs12", "-export", "-legacy", "-in", files.chain.path, "-inkey", files.privateKey.path,
                "-keypbe", "PBE-SHA1-RC2-40", "-passout", "pass:secret", "-out", command.path("old.p12"),
            ])
        withExtendedLifetime(files) {}
        let words = ["-sk", "--cert", "old.p12:secret", server.url(host: "localhost").absoluteString]
        #expect(try command.runInFolder(words).output == "hello")
        let outcome = try command.runInFolder(["-S"] + words, environment: ["OPENSSL_MODULES": "/nonexistent"])
        #expect(outcome.exit == .code(58))
        #expect(outcome.output.contains("cannot decrypt 'old.p12': RC2, RC4 and DES need OpenSSL's legacy module"))
    }
}
