import Foundation
import TestSupport
import Testing

@Suite(.needs(.curl), .needs(.openssl)) struct TLSServerTests {
    private let authority: TestCertificateAuthority
    private let files: TemporaryDirectory
    private var root: String { files.file("root.pem").path }

    init() throws {
        authority = try TestCertificateAuthority()
        files = try TemporaryDirectory()
        try files.write(authority.root.pem, to: "root.pem")
    }

    private func server(_ options: TLSServerOptions) throws -> ScriptedServer {
        try ScriptedServer.answering(tls: options) { _ in .text("secure") }
    }

    @Test(
        "a client that trusts the root gets through",
        arguments: [(TLSServerOptions.Version.tls12, "TLSv1.2"), (.tls13, "TLSv1.3")])
    func aClientThatTrustsTheRootGetsThrough(version: TLSServerOptions.Version, name: String) throws {
        let server = try server(
            TLSServerOptions(authority: authority).with {
                $0.minimumVersion = version
                $0.maximumVersion = version
                $0.applicationProtocols = ["h3000", "http/1.1"]
            })
        defer { server.stop() }
        let url = server.url(host: "localhost").absoluteString
        #expect(try Curl.run("--http1.1", "--cacert", root, url).output == "secure")
        try server.finish()
        let connection = try #require(server.connections.first)
        let handshake = try #require(connection.handshake)
        #expect(handshake.version == name)
        #expect(handshake.serverName == "localhost")
        #expect(handshake.applicationProtocol == "http/1.1")
        #expect(!handshake.wasResumed)
        #expect(handshake.clientCertificate == nil)
        #expect(connection.end == .closeNotify)
        #expect(connection.bytesAccepted > 6)
    }

    @Test("a client that does not trust the root sends an alert") func aClientThatDoesNotTrustTheRootSendsAnAlert()
        throws
    {
        let server = try server(TLSServerOptions(authority: authority))
        defer { server.stop() }
        #expect(try Curl.run(server.url().absoluteString).exit == .code(60))
        #expect(try server.connection(0).waitForHandshake() == nil)
        #expect(server.connections[0].handshakeFailure?.hasSuffix("tlsv1 alert unknown ca") == true)
        #expect(server.requests.isEmpty)
        try server.finish()
    }

    @Test("a server without certificate serves clients that require none")
    func aServerWithoutCertificate() throws {
        let server = try server(TLSServerOptions(authority: authority).with { $0.showsCertificate = false })
        defer { server.stop() }
        let url = server.url().absoluteString
        let output = try Curl.run("--insecure", "--ciphers", "aNULL:@SECLEVEL=0", "--tls-max", "1.2", url).output
        #expect(output == "secure")
        #expect(server.connections.first?.handshake?.version == "TLSv1.2")
        #expect(try Curl.run("--insecure", url).exit == .code(35))
    }

    @Test("the chain is sent whole or in part") func theChainIsSentWholeOrInPart() throws {
        let identity = try authority.intermediate().issue(.localhost)
        let whole = try server(TLSServerOptions(identity))
        defer { whole.stop() }
        #expect(try Curl.run("--cacert", root, whole.url().absoluteString).output == "secure")
        let part = try server(TLSServerOptions(identity).with { $0.sentChain = [] })
        defer { part.stop() }
        #expect(try Curl.run("--cacert", root, part.url().absoluteString).exit == .code(60))
    }

    @Test("a client certificate is asked for, required and handed on")
    func aClientCertificateIsAskedForRequiredAndHandedOn() throws {
        let asked = try server(
            TLSServerOptions(authority: authority).with { $0.clientCertificate = .asked(trusting: [authority.root]) })
        defer { asked.stop() }
        #expect(try Curl.run("--cacert", root, asked.url().absoluteString).output == "secure")
        #expect(asked.connections.map(\.handshake?.clientCertificate) == [nil])

        let required = try server(
            TLSServerOptions(authority: authority).with {
                $0.clientCertificate = .required(trusting: [authority.root])
            })
        defer { required.stop() }
        #expect(try Curl.run("--cacert", root, required.url().absoluteString).exit == .code(56))
        #expect(
            required.connections[0].handshakeFailure?.hasSuffix("peer did not return a certificate") == true)
        let client = try authority.issue(.client("Somebody"))
        let certificate = try files.write(client.chainPEM, to: "client.pem").path
        let key = try files.write(client.privateKey.pem, to: "key.pem").path
        #expect(
            try Curl.run("--cacert", root, "--cert", certificate, "--key", key, required.url().absoluteString).output
                == "secure")
        #expect(required.connections[1].handshake?.clientCertificate == client.certificate)
    }

    @Test(
        "sessions are resumed where there are tickets",
        arguments: [(2, [false, true, true, true, true, true]), (0, [false, false, false, false, false, false])])
    func sessionsAreResumedWhereThereAreTickets(tickets: Int, resumed: [Bool]) throws {
        let server = try ScriptedServer(
            tls: TLSServerOptions(authority: authority).with {
                $0.sessionTickets = tickets
                $0.minimumVersion = .tls12
                $0.maximumVersion = .tls12
            }
        ) { connection in
            try connection.waitForClose()
        }
        defer { server.stop() }
        _ = try OpenSSLCommand.run(["s_client", "-connect", "127.0.0.1:\(server.port)", "-CAfile", root, "-reconnect"])
        try server.finish()
        #expect(server.connections.map(\.handshake?.wasResumed) == resumed)
    }

    @Test("a stapled response is seen") func aStapledResponseIsSeen() throws {
        let identity = try authority.issue(.localhost)
        let server = try ScriptedServer(
            tls: TLSServerOptions(identity).with {
                $0.ocspResponse = try authority.ocspResponse(for: identity.certificate, status: .revoked)
            }
        ) { try $0.waitForClose() }
        defer { server.stop() }
        let output = try OpenSSLCommand.run([
            "s_client", "-connect", "127.0.0.1:\(server.port)", "-CAfile", root, "-status",
        ])
        #expect(output.contains("OCSP Response Status: successful"))
        #expect(output.contains("Cert Status: revoked"))
    }

    @Test("old versions and weak certificates are offered when the options say so")
    func oldVersionsAndWeakCertificates() throws {
        let identity = try authority.issue(
            .localhost.with {
                $0.key = .rsa(bits: 1024)
                $0.digest = .sha1
            })
        let server = try ScriptedServer(
            tls: TLSServerOptions(identity).with {
                $0.minimumVersion = .tls10
                $0.maximumVersion = .tls10
            }
        ) { try $0.waitForClose() }
        defer { server.stop() }
        _ = try OpenSSLCommand.run([
            "s_client", "-connect", "127.0.0.1:\(server.port)", "-tls1", "-cipher", "ALL:@SECLEVEL=0",
        ])
        #expect(try server.connection(0).waitForHandshake()?.version == "TLSv1")
    }

    @Test("a truncation and an orderly end differ") func aTruncationAndAnOrderlyEndDiffer() throws {
        let server = try ScriptedServer(tls: TLSServerOptions(authority: authority)) { connection in
            try connection.send("abc")
            if connection.index == 0 { connection.closeAbruptly() } else { connection.close() }
        }
        defer { server.stop() }
        let connect = ["s_client", "-quiet", "-connect", "127.0.0.1:\(server.port)", "-CAfile", root]
        #expect(try OpenSSLCommand.run(connect).contains("unexpected eof while reading"))
        #expect(try !OpenSSLCommand.run(connect).contains("unexpected eof while reading"))
    }

    @Test("TLS over a descriptor that was accepted elsewhere") func tlsOverADescriptorThatWasAcceptedElsewhere() throws
    {
        var ends: [Int32] = [-1, -1]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        let connection = try ServerConnection(adopting: ends[0])
        close(ends[1])
        #expect(throws: (any Error).self) {
            try connection.startTLS(TLSServer(TLSServerOptions(authority: authority)))
        }
        #expect(connection.record.handshakeFailure != nil)
    }
}
