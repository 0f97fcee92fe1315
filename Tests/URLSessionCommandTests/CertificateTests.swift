import Foundation
import TestSupport
import Testing
import URLLoading
import URLSessionCommandCore

/// Server trust and client certificates.
@Suite struct CertificateTests {
    private let folder: TemporaryDirectory
    private let authority: TestCertificateAuthority

    init() throws {
        folder = try TemporaryDirectory()
        authority = try TestCertificateAuthority()
    }

    private func run(_ server: ScriptedServer, _ arguments: String...) -> ExitCode {
        Command.run(
            arguments: [server.url(host: "localhost").absoluteString, "-s", "-o", folder.file("body").path]
                + arguments, terminal: Terminal())
    }

    private func pin(_ certificate: TestCertificate) throws -> String {
        let known = try #require(SecCertificateCreateWithData(nil, Data(certificate.der) as CFData))
        return "sha256//" + (try #require(known.publicKeyHash)).base64EncodedString()
    }

    @Test func authoritiesOfAFile() throws {
        let server = try ScriptedServer.answering(.text("hello"), tls: TLSServerOptions(authority: authority))
        defer { server.stop() }
        let otherAuthority = try TestCertificateAuthority()
        let wrong = try folder.write(otherAuthority.root.pem, to: "wrong.pem").path
        let right = try folder.write(otherAuthority.root.pem + authority.root.pem, to: "right.pem").path
        let nothing = try folder.write("nothing", to: "nothing.pem").path
        #expect(run(server) == .serverCertificate)
        #expect(run(server, "--cacert", wrong) == .serverCertificate)
        #expect(run(server, "--cacert", right) == .success)
        #expect(run(server, "--cacert", nothing) == .readError)
        #expect(run(server, "--cacert", folder.file("missing").path) == .readError)
    }

    @Test func pinnedKeys() throws {
        let identity = try authority.issue(.localhost)
        let server = try ScriptedServer.answering(.text("hello"), tls: TLSServerOptions(identity))
        defer { server.stop() }
        let root = try folder.write(authority.root.pem, to: "root.pem").path
        let right = try pin(identity.certificate)
        let wrong = try pin(authority.root)
        #expect(run(server, "--cacert", root, "--pin", right) == .success)
        #expect(run(server, "--cacert", root, "--pin", "\(wrong);\(right)") == .success)
        #expect(run(server, "--cacert", root, "--pin", wrong) == .pinMismatch)
        // A pin stands also where any certificate will do, and vouches for none.
        #expect(run(server, "-k", "--pin", wrong) == .pinMismatch)
        #expect(run(server, "-k", "--pin", right) == .success)
        #expect(run(server, "--pin", right) == .serverCertificate)
        for text in ["sha256//", "md5//AAAA", right + ";", ""] { #expect(run(server, "--pin", text) == .usage) }
    }

    @Test func clientCertificates() throws {
        let identity = try authority.issue(.client("somebody"))
        let server = try ScriptedServer.answering(
            .text("hello"),
            tls: TLSServerOptions(authority: authority).with {
                $0.clientCertificate = .required(trusting: [authority.root])
            })
        defer { server.stop() }
        let archive = try folder.write(identity.pkcs12(password: "a:b"), to: "me.p12").path
        let pem = try folder.write(identity.chainPEM + identity.privateKey.pem, to: "me.pem").path
        let nothing = try folder.write("nothing", to: "nothing").path
        #expect(run(server, "-k") == .clientCertificate)
        // One of two passwords would be ignored.
        #expect(run(server, "-k", "-E", "\(pem):x", "--pass", "y") == .usage)
        #expect(run(server, "-k", "-E", "\(pem):x", "--pass", "x") == .usage)
        #expect(run(server, "-k", "--cert", pem) == .success)
        #expect(run(server, "-k", "-E", pem) == .success)
        #expect(run(server, "-k", "--cert", "\(archive):wrong") == .clientCertificate)
        #expect(run(server, "-k", "--cert", archive) == .clientCertificate)
        #expect(run(server, "-k", "--cert", nothing) == .clientCertificate)
        #expect(run(server, "-k", "--cert", folder.file("missing").path) == .readError)
        let plain = try folder.write(identity.pkcs12(password: "secret"), to: "plain.p12").path
        #expect(run(server, "-k", "--cert", "\(plain):secret") == .success)
        #expect(
            server.connections.compactMap { $0.handshake?.clientCertificate } == [
                identity.certificate, identity.certificate, identity.certificate,
            ])
    }
}
