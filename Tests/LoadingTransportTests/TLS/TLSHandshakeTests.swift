import Foundation
import LoadingTestSupport
import LoadingTransport
import TestSupport
import Testing

@Suite(.leakChecked) struct TLSHandshakeTests {
    private let authority: TestCertificateAuthority

    init() throws {
        authority = try TestCertificateAuthority()
    }

    private func serve(_ options: TLSServerOptions) throws -> ScriptedServer {
        try ScriptedServer(tls: options) { try $0.waitForClose() }
    }

    // MET-10, TLS-11
    @Test(
        "facts of a connection",
        arguments: [
            (TLSServerOptions.Version.tls12, "ECDHE-ECDSA-AES128-GCM-SHA256" as String?, 0xC02B as UInt16),
            (.tls12, "ECDHE-ECDSA-CHACHA20-POLY1305", 0xCCA9), (.tls13, nil, 0x1301),
        ])
    func factsOfAConnection(version: TLSServerOptions.Version, cipher: String?, number: UInt16) throws {
        let identity = try authority.intermediate().issue(.localhost)
        let server = try serve(
            TLSServerOptions(identity).only(version).with {
                $0.ciphers = cipher
                $0.applicationProtocols = ["http/1.1", "h2"]
            })
        defer { server.stop() }
        let context = try TLSContext(trusting: authority) { $0.applicationProtocols = ["h2", "http/1.1"] }
        let client = try TLSClient(to: server, context: context)
        #expect(try client.handshake { context.evaluator.verdict(on: $0) } == nil)
        #expect(
            client.stream.session
                == TLSSessionFacts(
                    version: TLSVersion(rawValue: UInt16(version.rawValue)), cipherSuite: number,
                    applicationProtocol: "http/1.1", isResumed: false, peerCertificates: identity.chain.map(\.der)))
        #expect(client.questions == ["trust"])
        #expect(client.peer?.serverName == "localhost")
        #expect(client.peer?.chain.der == identity.chain.map(\.der))
        let seen = try #require(try server.connection(0).waitForHandshake())
        #expect(seen.serverName == "localhost")
        #expect(seen.applicationProtocol == "http/1.1")
        #expect(client.stream.shutdown())
        #expect(try server.connection(0).waitForEnd() == .closeNotify)
    }

    // TLS-11
    @Test(
        "the server name is sent for host names, not for addresses",
        arguments: [("localhost", "localhost"), ("localhost.", "localhost"), ("127.0.0.1", nil), ("[::1]", nil)])
    func serverNameIsSentForHostNamesNotForAddresses(host: String, serverName: String?) throws {
        let server = try serve(TLSServerOptions(authority: authority))
        defer { server.stop() }
        let context = try TLSContext(trusting: authority)
        let client = try TLSClient(to: server, context: context, serverName: host)
        #expect(try client.handshake { context.evaluator.verdict(on: $0) } == nil)
        #expect(try server.connection(0).waitForHandshake()?.serverName == serverName)
        #expect(client.stream.session.applicationProtocol == nil)
    }

    // TLS-5
    @Test("the default evaluation fails the handshake", arguments: [TLSServerOptions.Version.tls12, .tls13])
    func defaultEvaluationFailsHandshake(version: TLSServerOptions.Version) throws {
        let cases: [(CertificateProfile, Int, String)] = [
            (.localhost.with { $0.validity = .expired }, -1201, "certificate expired"),
            (.localhost.with { $0.validity = .notYetValid }, -1204, "bad certificate"),
            (.server("elsewhere.test"), -1202, "bad certificate"),
        ]
        for (profile, code, alert) in cases {
            let server = try serve(TLSServerOptions(authority: authority, profile: profile).only(version))
            defer { server.stop() }
            let context = try TLSContext(trusting: authority)
            let client = try TLSClient(to: server, context: context)
            let error = try client.handshake { context.evaluator.verdict(on: $0) }
            #expect(error?.code == code)
            #expect(error?.verifyCode != 0)
            #expect(try server.connection(0).waitForHandshake() == nil)
            #expect(server.connections[0].handshakeFailure?.hasSuffix("alert \(alert)") == true)
            // The end is reported again.
            #expect(try client.handshake() == error)
            #expect(try client.read(capacity: 1).0 == .failed(#require(error)))
        }
    }

    // AUTH-2, AUTH-30
    @Test("a trust decision may be asynchronous", arguments: [TLSServerOptions.Version.tls12, .tls13])
    func trustDecisionMayBeAsynchronous(version: TLSServerOptions.Version) throws {
        let server = try serve(TLSServerOptions(.selfSigned(.server("elsewhere.test"))).only(version))
        defer { server.stop() }
        let context = try TLSContext(trusting: authority)
        let client = try TLSClient(to: server, context: context)
        for _ in 0..<3 { #expect(try client.handshakeToQuestion() == "trust") }
        #expect(server.connections[0].handshake == nil)
        client.stream.decideTrust(.accept)
        #expect(try client.handshakeToQuestion() == "complete")
        #expect(try server.connection(0).waitForHandshake() != nil)

        let refused = try TLSClient(to: server, context: context)
        let cancelled = TLSError(code: -999, reason: "cancelled")
        for _ in 0..<3 { #expect(try refused.handshakeToQuestion() == "trust") }
        #expect(try refused.handshake { _ in .reject(cancelled) } == cancelled)
        #expect(try server.connection(1).waitForHandshake() == nil)
    }

    private final class StreamOwner: ByteStreamOwner, @unchecked Sendable {
        // Sendable because it is used on the loop only.
        var stream: ByteStream?
        let isConnected = Signal("the connection")

        func streamBecameReady(_ stream: ByteStream) {
            if case .success? = stream.finishConnecting() { isConnected.fire() }
        }
    }

    // CONN-15: otherwise a server that waits for the answer about its certificate would count as silent
    @Test("what a handshake reads before the loop reports it has arrived") func whatAHandshakeReadsHasArrived()
        async throws
    {
        let server = try serve(TLSServerOptions(authority: authority))
        defer { server.stop() }
        let context = try TLSContext(trusting: authority)
        let stepped = try SteppedLoop()
        let loop = stepped.loop
        let owner = StreamOwner()
        let address = try #require(SocketAddress(literal: "127.0.0.1", port: UInt16(server.port)))
        loop.post { owner.stream = try? ByteStream.connect(to: address, on: loop, owner: owner) }
        try await owner.isConnected.wait()
        // In one job, so that the loop reads nothing in between.
        let arrivals: [Int64]? = try await stepped.run {
            guard let stream = owner.stream,
                let tls = try? TLSStream(context: context, descriptor: stream.descriptor, serverName: "localhost")
            else { return nil }
            stream.secure(with: tls)
            let before = stream.lastArrival
            while case .wantsRead = stream.handshake() {
                var entry = pollfd(fd: stream.descriptor, events: Int16(POLLIN), revents: 0)
                guard poll(&entry, 1, 10_000) == 1 else { return nil }
            }
            let after = stream.lastArrival
            stream.close()
            return [before, after]
        }
        #expect(arrivals == [0, stepped.now])
    }

    // TLS-10
    @Test(
        "a stapled response is used unless the owner accepts the server unconditionally",
        arguments: [TLSServerOptions.Version.tls12, .tls13])
    func aStapledResponseIsHeededUnlessTheOwnerAcceptsTheServerAnyway(
        version: TLSServerOptions.Version
    ) throws {
        let identity = try authority.issue(.localhost)
        let context = try TLSContext(trusting: authority)
        for (status, code) in [(TestCertificateAuthority.RevocationStatus.good, nil), (.revoked, -1202)] {
            let response = try authority.ocspResponse(for: identity.certificate, status: status)
            let server = try serve(TLSServerOptions(identity).only(version).with { $0.ocspResponse = response })
            defer { server.stop() }
            let client = try TLSClient(to: server, context: context)
            #expect(try client.handshake { context.evaluator.verdict(on: $0) }?.code == code)
            #expect(client.resumptions.isEmpty == (version == .tls13 || code != nil))
            #expect(client.peer?.stapledResponse == (version == .tls13 ? response : nil))
            let careless = try TLSClient(to: server, context: context)
            #expect(try careless.handshake { _ in .accept } == nil)
        }
    }

    // C-19, TLS-5
    @Test("old versions are used only if configured", arguments: [TLSServerOptions.Version.tls10, .tls11])
    func oldVersionsAreUsedOnlyIfConfigured(version: TLSServerOptions.Version) throws {
        let server = try serve(TLSServerOptions(authority: authority).only(version))
        defer { server.stop() }
        let client = try TLSClient(to: server, context: TLSContext(trusting: authority))
        #expect(try client.handshake()?.code == -1200)
        let old = try TLSContext(trusting: authority) { $0.minimumVersion = .tls10 }
        let willing = try TLSClient(to: server, context: old)
        #expect(try willing.handshake() == nil)
        #expect(willing.stream.session.version.rawValue == UInt16(version.rawValue))
    }

    // C-19
    @Test("the highest version can be limited") func highestVersionCanBeLimited() throws {
        let server = try serve(TLSServerOptions(authority: authority))
        defer { server.stop() }
        let context = try TLSContext(trusting: authority) { $0.maximumVersion = .tls12 }
        let client = try TLSClient(to: server, context: context)
        #expect(try client.handshake() == nil)
        #expect(client.stream.session.version == .tls12)
        let modern = try TLSContext(trusting: authority) { $0.minimumVersion = .tls13 }
        let newer = try TLSClient(to: server, context: modern)
        #expect(try newer.handshake() == nil)
        #expect(newer.stream.session.version == .tls13)
    }

    @Test("an invalid configuration is an error") func invalidConfigurationIsError() throws {
        for change in [
            { $0.applicationProtocols = [""] }, { $0.applicationProtocols = [String(repeating: "a", count: 256)] },
            { $0.minimumVersion = TLSVersion(rawValue: 0x0999) },
            { $0.applicationProtocols = [String](repeating: String(repeating: "a", count: 255), count: 300) },
        ] as [(inout TLSConfiguration) -> Void] {
            #expect(throws: TLSError.self) { try TLSContext(trusting: authority, change) }
        }
        let context = try TLSContext(trusting: authority)
        for name in ["", ".", "a\u{0}b", String(repeating: "a", count: 300)] {
            #expect(throws: TLSError.self) { try TLSStream(context: context, descriptor: -1, serverName: name) }
        }
        let nowhere = try TLSStream(context: context, descriptor: -1, serverName: "localhost")
        guard case .failed(let error) = nowhere.handshake() else {
            Issue.record("a handshake over no descriptor")
            return
        }
        #expect(error == TLSError(code: -1005, reason: "the connection was lost", posix: EBADF))
    }

    // TLS-5
    @Test("no common protocol or cipher") func noCommonProtocolOrCipher() throws {
        let server = try serve(
            TLSServerOptions(authority: authority).with {
                $0.applicationProtocols = ["h2"]
                $0.requiresApplicationProtocol = true
            })
        defer { server.stop() }
        let context = try TLSContext(trusting: authority) { $0.applicationProtocols = ["http/1.1"] }
        #expect(try TLSClient(to: server, context: context).handshake()?.code == -1200)

        let weak = try serve(
            TLSServerOptions(authority: authority).only(.tls12).with { $0.ciphers = "ECDHE-ECDSA-NULL-SHA" })
        defer { weak.stop() }
        #expect(try TLSClient(to: weak, context: context).handshake()?.code == -1200)
    }

    // TLS-5
    @Test(
        "a server without TLS fails the handshake",
        arguments: [
            Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8), [UInt8](repeating: 0, count: 100),
            [UInt8](repeating: 0xFF, count: 70_000), [0x16, 3, 3, 0, 4, 2, 0, 0, 0], [0x16, 3, 3, 0xFF, 0xFF, 2],
            [0x15, 3, 3, 0, 2, 2, 40],
        ])
    func serverWithoutTLSFailsHandshake(garbage: [UInt8]) throws {
        let server = try ScriptedServer { connection in
            _ = try connection.receive()
            try connection.send(garbage)
            try connection.waitForClose()
        }
        defer { server.stop() }
        let client = try TLSClient(to: server, context: TLSContext(trusting: authority))
        let error = try client.handshake()
        #expect(error?.code == -1200)
        #expect(error?.reason.isEmpty == false)
        #expect(client.questions == [])
    }

    // TLS-5
    @Test("a peer that closes during the handshake is a lost connection")
    func peerThatClosesDuringHandshakeIsLostConnection()
        throws
    {
        let server = try ScriptedServer { connection in
            _ = try connection.receive()
            switch connection.index {
            case 0: connection.close()
            case 1: connection.reset()
            case 2:
                // Half of a record's header, then the end.
                try connection.send([0x16, 3])
                connection.close()
            default:
                // close_notify
                try connection.send([0x15, 3, 3, 0, 2, 1, 0])
                connection.close()
            }
        }
        defer { server.stop() }
        let context = try TLSContext(trusting: authority)
        let errors = try (0..<4).map { _ in try TLSClient(to: server, context: context).handshake() }
        #expect(errors.map { $0?.code } == [-1005, -1005, -1005, -1005])
        #expect(errors.map { $0?.posix } == [0, ECONNRESET, 0, 0])
    }
}

extension TrustEvaluator {
    fileprivate func verdict(on peer: TLSPeer) -> TLSTrustVerdict {
        var built: CertificateChain?
        let verdict = verdict(on: peer, at: now, built: &built)
        // The chain is available for a trusted server only.
        if case .reject = verdict { #expect(built == nil) } else { #expect(built?.der.isEmpty == false) }
        return verdict
    }
}
