import LoadingTransport
import TestSupport
import Testing

@Suite(.leakChecked) struct TLSResumptionTests {
    private let authority: TestCertificateAuthority
    private let context: TLSContext

    init() throws {
        authority = try TestCertificateAuthority()
        context = try TLSContext(trusting: authority)
    }

    private func serve(
        _ version: TLSServerOptions.Version, _ change: (inout TLSServerOptions) -> Void = { _ in }
    ) throws -> ScriptedServer {
        let profile = CertificateProfile.server("localhost", "other.test")
        let options = try TLSServerOptions(authority: authority, profile: profile).only(version).with(change)
        return try ScriptedServer(tls: options) { connection in
            try connection.send("hello")
            try connection.waitForClose()
        }
    }

    /// Connects, reads some data and closes without close_notify, like HTTP clients.
    private func visit(
        _ server: ScriptedServer, context: TLSContext? = nil, serverName: String = "localhost",
        resuming resumption: TLSResumption? = nil, identity: TLSIdentity? = nil
    ) throws -> (client: TLSClient, facts: TLSSessionFacts) {
        let client = try TLSClient(
            to: server, context: context ?? self.context, serverName: serverName, resuming: resumption)
        #expect(try client.handshake(identity: identity) == nil)
        #expect(try client.read(capacity: 100).1 == Array("hello".utf8))
        return (client, client.stream.session)
    }

    // TLS-8
    @Test(
        "the second connection resumes without a trust decision", arguments: [TLSServerOptions.Version.tls12, .tls13])
    func secondConnectionResumesWithoutTrustDecision(version: TLSServerOptions.Version) throws {
        let server = try serve(version)
        defer { server.stop() }
        let first = try visit(server)
        #expect(!first.facts.isResumed)
        #expect(first.client.resumptions.count == (version == .tls12 ? 1 : 2))
        let resumption = try #require(first.client.resumptions.first)
        #expect(resumption.version.rawValue == UInt16(version.rawValue))
        #expect(resumption.isSingleUse == (version == .tls13))
        #expect(resumption.serverName == "localhost")
        #expect(resumption.expiry > now)

        let second = try visit(server, resuming: resumption)
        #expect(second.facts.isResumed)
        #expect(second.client.questions == [])
        #expect(second.facts.peerCertificates == first.facts.peerCertificates)
        #expect(second.facts.cipherSuite == first.facts.cipherSuite)
        #expect(server.connections.map(\.handshake?.wasResumed) == [false, true])

        // The server renews TLS 1.3 tickets with each connection.
        if version == .tls13 {
            let renewed = try #require(second.client.resumptions.first)
            #expect(try visit(server, resuming: renewed).facts.isResumed)
        }
    }

    // TLS-8, TLS-10
    @Test(
        "a resumed session has the stapled response of its first handshake",
        arguments: [TLSServerOptions.Version.tls12, .tls13])
    func resumedSessionHasTheStapledResponse(version: TLSServerOptions.Version) throws {
        let identity = try authority.issue(.localhost)
        let response = try authority.ocspResponse(for: identity.certificate, status: .good)
        let server = try serve(version) {
            $0.identity = identity
            $0.ocspResponse = response
        }
        defer { server.stop() }
        var resumption: TLSResumption?
        for isResumed in [false, true, true] {
            let visit = try visit(server, resuming: resumption)
            #expect(visit.facts.isResumed == isResumed)
            #expect(visit.client.stream.peer?.stapledResponse == response)
            resumption = visit.client.resumptions.first ?? resumption
        }
        // The session of another certificate is not resumed, and its response is not used.
        let other = try serve(version)
        defer { other.stop() }
        let refused = try visit(other, resuming: resumption)
        #expect(!refused.facts.isResumed)
        #expect(refused.client.stream.peer?.stapledResponse == nil)
    }

    // TLS-8
    @Test(
        "the lifetime of a session is the server's, within limits",
        arguments: [
            (TLSVersion.tls13, Int64(300), Int64(300)), (.tls13, 100_000, 100_000), (.tls13, 604_800, 604_800),
            (.tls13, 604_801, 604_800), (.tls13, Int64(UInt32.max), 604_800), (.tls13, 0, 0), (.tls12, 300, 300),
            (.tls12, 100_000, 7_200), (.tls12, 0, 7_200),
        ])
    func lifetimeOfSessionIsTheServersWithinLimits(version: TLSVersion, hint: Int64, lifetime: Int64) {
        #expect(TLSResumption.lifetime(of: version, default: 7_200, hint: hint) == lifetime)
    }

    // TLS-8
    @Test("a session remains usable after a truncated connection", arguments: [TLSServerOptions.Version.tls12, .tls13])
    func sessionRemainsUsableAfterTruncatedConnection(version: TLSServerOptions.Version) throws {
        let server = try serve(version)
        defer { server.stop() }
        var resumptions: [TLSResumption] = []
        do { resumptions = try visit(server).client.resumptions }
        let last = try #require(resumptions.last)
        #expect(try visit(server, resuming: last).facts.isResumed)
    }

    // TLS-8
    @Test("a session is offered to its own host and context only", arguments: [TLSServerOptions.Version.tls12, .tls13])
    func sessionIsOfferedToItsOwnHostAndContextOnly(version: TLSServerOptions.Version) throws {
        let server = try serve(version)
        defer { server.stop() }
        let resumption = try #require(visit(server).client.resumptions.first)
        let elsewhere = try visit(server, serverName: "other.test", resuming: resumption)
        #expect(!elsewhere.facts.isResumed)
        #expect(elsewhere.client.questions == ["trust"])
        let stricter = try visit(server, context: TLSContext(trusting: authority), resuming: resumption)
        #expect(!stricter.facts.isResumed)
        #expect(stricter.client.questions == ["trust"])
        #expect(try visit(server, resuming: resumption).facts.isResumed)
    }

    // TLS-8
    @Test(
        "a session unknown to the server leads to a full handshake",
        arguments: [TLSServerOptions.Version.tls12, .tls13])
    func sessionUnknownToServerLeadsToFullHandshake(
        version: TLSServerOptions.Version
    ) throws {
        let first = try serve(version)
        defer { first.stop() }
        let resumption = try #require(visit(first).client.resumptions.first)
        let second = try serve(version)
        defer { second.stop() }
        let visit = try visit(second, resuming: resumption)
        #expect(!visit.facts.isResumed)
        #expect(visit.client.questions == ["trust"])
    }

    @Test("a session has the client identity that it was made with") func sessionHasClientIdentityThatItWasMadeWith()
        throws
    {
        let server = try serve(.tls13) { $0.clientCertificate = .required(trusting: [authority.root]) }
        defer { server.stop() }
        let identity = try TLSIdentity(authority.issue(.client("Somebody")))
        let first = try visit(server, identity: identity)
        let resumption = try #require(first.client.resumptions.first)
        #expect(resumption.identity === identity)
        let second = try visit(server, resuming: resumption)
        #expect(second.facts.isResumed)
        #expect(second.client.resumptions.first?.identity === identity)
    }

    @Test("a server without tickets offers nothing") func serverWithoutTicketsOffersNothing() throws {
        let server = try serve(.tls13) { $0.sessionTickets = 0 }
        defer { server.stop() }
        #expect(try visit(server).client.resumptions.isEmpty)
    }
}
