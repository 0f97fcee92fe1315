import Foundation
import LoadingTransport
import TestSupport
import Testing

@Suite(.leakChecked) struct TLSIdentityTests {
    private let authority: TestCertificateAuthority
    private let context: TLSContext

    init() throws {
        authority = try TestCertificateAuthority()
        context = try TLSContext(trusting: authority)
    }

    private func serve(
        _ version: TLSServerOptions.Version, _ policy: TLSServerOptions.ClientCertificate
    ) throws -> ScriptedServer {
        let options = try TLSServerOptions(authority: authority).only(version).with { $0.clientCertificate = policy }
        return try ScriptedServer(tls: options) { connection in
            try connection.send("hello")
            connection.close()
        }
    }

    /// The error of the handshake, or else of the first read.
    private func outcome(_ client: TLSClient, identity: TLSIdentity?) throws -> TLSError? {
        if let error = try client.handshake(identity: identity) { return error }
        let (result, bytes) = try client.readToEnd()
        if case .failed(let error) = result { return error }
        #expect(bytes == Array("hello".utf8))
        return nil
    }

    // AUTH-31, TLS-5
    @Test("a required certificate", arguments: [TLSServerOptions.Version.tls12, .tls13])
    func requiredCertificate(version: TLSServerOptions.Version) throws {
        let server = try serve(version, .required(trusting: [authority.root]))
        defer { server.stop() }

        let without = try TLSClient(to: server, context: context)
        #expect(try outcome(without, identity: nil)?.code == -1206)
        #expect(without.questions == ["trust", "identity"])

        let known = try authority.intermediate().issue(.client("Known"))
        let with = try TLSClient(to: server, context: context)
        #expect(try outcome(with, identity: TLSIdentity(known)) == nil)
        #expect(server.connections[1].handshake?.clientCertificate == known.certificate)

        let unknown = try TestCertificateAuthority(.authority("Other Root")).issue(.client("Unknown"))
        let rejected = try TLSClient(to: server, context: context)
        #expect(try outcome(rejected, identity: TLSIdentity(unknown))?.code == -1205)
    }

    // AUTH-31
    @Test("an optional certificate", arguments: [TLSServerOptions.Version.tls12, .tls13])
    func optionalCertificate(version: TLSServerOptions.Version) throws {
        let server = try serve(version, .asked(trusting: [authority.root]))
        defer { server.stop() }
        #expect(try outcome(TLSClient(to: server, context: context), identity: nil) == nil)
        let known = try authority.issue(.client("Known"))
        #expect(try outcome(TLSClient(to: server, context: context), identity: TLSIdentity(known)) == nil)
        #expect(server.connections.map(\.handshake?.clientCertificate) == [nil, known.certificate])
    }

    // AUTH-12, AUTH-31
    @Test("the request has issuers and can be answered later", arguments: [TLSServerOptions.Version.tls12, .tls13])
    func requestHasIssuersAndCanBeAnsweredLater(version: TLSServerOptions.Version) throws {
        let server = try serve(version, .required(trusting: [authority.root]))
        defer { server.stop() }
        let client = try TLSClient(to: server, context: context)
        #expect(try client.handshakeToQuestion() == "trust")
        client.stream.decideTrust(.accept)
        for _ in 0..<3 { #expect(try client.handshakeToQuestion() == "identity") }
        #expect(try outcome(client, identity: TLSIdentity(authority.issue(.client("Known")))) == nil)
        let request = try #require(client.identityRequests.first)
        #expect(request.serverName == "localhost")
        #expect(request.distinguishedNames == [Self.name("Test Root")])
        // ecdsa_secp256r1_sha256 and rsa_pss_rsae_sha256
        #expect(request.signatureSchemes.contains(0x0403))
        #expect(request.signatureSchemes.contains(0x0804))
    }

    /// The DER form of a distinguished name that is a common name alone.
    private static func name(_ commonName: String) -> [UInt8] {
        func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] { [tag, UInt8(content.count)] + content }
        let attribute = element(0x06, [0x55, 0x04, 0x03]) + element(0x0C, Array(commonName.utf8))
        return element(0x30, element(0x31, element(0x30, attribute)))
    }

    @Test("a server may request a certificate after the handshake") func serverMayRequestCertificateAfterHandshake()
        throws
    {
        let options = try TLSServerOptions(authority: authority).only(.tls13).with {
            $0.clientCertificate = .asked(trusting: [authority.root])
        }
        let server = try ScriptedServer(tls: options) { connection in
            _ = try connection.receive(exactly: 1)
            try connection.requestClientCertificate()
            _ = try connection.receive(exactly: 1)
            try connection.send(connection.tlsOutcome?.clientCertificate == nil ? "no certificate" : "certificate")
            connection.close()
        }
        defer { server.stop() }
        let identity = try TLSIdentity(authority.issue(.client("Known")))
        let answers = try [nil, identity].map { late in
            let client = try TLSClient(to: server, context: context)
            #expect(try client.handshake() == nil)
            try client.write([1])
            try client.waitUntil(POLLIN)
            var buffer: UInt8 = 0
            var result = withUnsafeMutableBytes(of: &buffer) { client.stream.read(into: $0) }
            while case .wouldBlock = result {
                try client.waitUntil(POLLIN)
                result = withUnsafeMutableBytes(of: &buffer) { client.stream.read(into: $0) }
            }
            guard case .wantsIdentity(let request) = result else {
                Issue.record("no question but \(result)")
                return ""
            }
            #expect(request.serverName == "localhost")
            // Without a decision the request is repeated.
            #expect(withUnsafeMutableBytes(of: &buffer) { client.stream.read(into: $0) } == .wantsIdentity(request))
            client.stream.provideIdentity(late)
            #expect(withUnsafeMutableBytes(of: &buffer) { client.stream.read(into: $0) } == .wouldBlock)
            try client.write([2])
            return String(decoding: try client.readToEnd().1, as: UTF8.self)
        }
        #expect(answers == ["no certificate", "certificate"])
    }

    @Test("an identity comes as PEM, DER or PKCS 12") func identityComesAsPEMDEROrPKCS12() throws {
        let known = try authority.intermediate().issue(.client("Known"))
        let chain = known.chain.map(\.der)
        let forms = [
            try TLSIdentity(known),
            try TLSIdentity(pem: Array((known.privateKey.pem + known.chainPEM).utf8)),
            try TLSIdentity(chain: #require(CertificateChain(der: chain)), privateKey: known.privateKey.der),
            try TLSIdentity(pkcs12: known.pkcs12(password: "secret"), password: "secret"),
        ]
        #expect(forms.map { $0.chain?.der } == [chain, chain, chain, chain])
    }

    @Test(
        "old archives and encrypted keys can be read", .needs(.openssl),
        arguments: ["PBE-SHA1-3DES", "PBE-SHA1-RC2-40", "PBE-SHA1-RC2-128", "PBE-SHA1-RC4-128", "PBE-MD5-DES"])
    func oldArchivesAndEncryptedKeysOpenToo(algorithm: String) throws {
        let known = try authority.intermediate().issue(.client("Known"))
        let files = try CertificateFiles(known, of: authority)
        let old = try TemporaryDirectory()
        let archive = old.file("old.p12").path
        let openssl = "/usr/bin/openssl"
        _ = try ChildProcess.run(
            openssl,
            [
                "pkcs12", "-export", "-legacy", "-in", files.chain.path, "-inkey", files.privateKey.path, "-passout",
                "pass:secret", "-keypbe", algorithm, "-name", "a friend", "-out", archive,
            ])
        let bytes = try Array(Data(contentsOf: old.file("old.p12")))
        let opened = try TLSIdentity(pkcs12: bytes, password: "secret").chain
        #expect(opened?.der == known.chain.map(\.der))
        #expect(opened?.certificates.first?.label == "a friend")

        let encrypted = old.file("key.pem").path
        _ = try ChildProcess.run(
            openssl,
            ["pkcs8", "-topk8", "-in", files.privateKey.path, "-passout", "pass:secret", "-out", encrypted])
        let pem = try Array(known.chainPEM.utf8) + Array(Data(contentsOf: old.file("key.pem")))
        #expect(try TLSIdentity(pem: pem, password: "secret").chain?.der == known.chain.map(\.der))
        #expect(throws: TLSError.self) { try TLSIdentity(pem: pem) }
        #expect(throws: TLSError.self) { try TLSIdentity(pem: pem, password: "wrong") }
    }

    // TLS-5
    @Test("data that is not an identity is an error") func dataThatIsNotIdentityIsError() throws {
        let known = try authority.issue(.client("Known"))
        let other = try authority.issue(.client("Other"))
        let failures: [() throws -> TLSIdentity] = [
            { try TLSIdentity(pem: []) },
            { try TLSIdentity(pem: Array(known.chainPEM.utf8)) },
            { try TLSIdentity(pem: Array(known.privateKey.pem.utf8)) },
            { try TLSIdentity(pem: Array((known.chainPEM + other.privateKey.pem).utf8)) },
            { try TLSIdentity(pkcs12: [], password: "") },
            { try TLSIdentity(pkcs12: [0x30, 0x80, 0x02], password: "") },
            { try TLSIdentity(pkcs12: known.pkcs12(password: "secret"), password: "wrong") },
            { try TLSIdentity(chain: #require(CertificateChain(der: [])), privateKey: known.privateKey.der) },
            { try TLSIdentity(chain: #require(CertificateChain(der: known.chain.map(\.der))), privateKey: [1]) },
        ]
        for failure in failures {
            let error = #expect(throws: TLSError.self) { try failure() }
            #expect(error?.code == -1205)
        }
    }
}
