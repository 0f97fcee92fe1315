import Foundation
import LoadingEvents
import LoadingSemantics
import LoadingTransport
import TestSupport
import Testing

@testable import LoadingConnections

/// Handshakes over real sockets with servers of all kinds.
@Suite struct SecureHandshakeTests {
    /// How a handshake ended.
    private enum Outcome: Equatable, Sendable {
        case connected(TLSVersion, isResumed: Bool)
        case failed(Int)
        case notConnected
    }

    /// Connects, shakes hands, and reports the outcome. Confined to its loop.
    private final class Client: ByteStreamOwner, @unchecked Sendable {
        // Sendable because what is mutable is touched on the loop only.

        let outcomes = EventRecorder<Outcome>()
        private let loop = EventLoops.assign()
        private let origin: ConnectionKey
        private let security: ConnectionSecurity
        private var handshake: SecureHandshake?
        private var stream: ByteStream?

        init(to server: ScriptedServer, host: String, security: ConnectionSecurity) {
            origin = ConnectionKey(isSecure: true, host: host, port: UInt16(server.port))
            self.security = security
        }

        func start() async {
            await loop.run { [self] in
                guard let address = SocketAddress(literal: "127.0.0.1", port: origin.port),
                    let stream = try? ByteStream.connect(to: address, on: loop, owner: self)
                else { return outcomes.record(.notConnected) }
                self.stream = stream
            }
        }

        func streamBecameReady(_ stream: ByteStream) {
            guard handshake == nil, let result = stream.finishConnecting() else { return }
            guard case .success = result else { return outcomes.record(.notConnected) }
            handshake = SecureHandshake(stream, to: origin, with: security, carriesHTTP: true, for: nil) {
                [self] result in
                switch result {
                case .failure(let error): outcomes.record(.failed(error.code))
                case .success(let stream):
                    guard let session = stream.tls?.session else { return outcomes.record(.notConnected) }
                    outcomes.record(.connected(session.version, isResumed: session.isResumed))
                }
            }
            handshake?.start()
        }

        /// Reads what the server sends after the handshake, session tickets above all.
        func read() async {
            await loop.run { [self] in _ = stream?.isSilent }
        }

        func cancel() async { await loop.run { [self] in handshake?.cancel() } }

        var isClosed: Bool { get async { await loop.run { [self] in stream?.isClosed ?? true } } }

        func close() async {
            await loop.run { [self] in
                stream?.close()
                handshake = nil
            }
        }
    }

    private let authority: TestCertificateAuthority
    private let security: ConnectionSecurity

    init() throws {
        authority = try TestCertificateAuthority()
        var configuration = TLSConfiguration()
        configuration.roots = .only([.der(authority.root.der)])
        security = ConnectionSecurity(configuration, clock: .monotonic)
    }

    private func shakeHands(_ server: ScriptedServer, host: String = "localhost") async throws -> (Outcome, Client) {
        let client = Client(to: server, host: host, security: security)
        await client.start()
        let outcome = try await client.outcomes.waitFor(count: 1)[0]
        return (outcome, client)
    }

    private func outcome(of options: TLSServerOptions, host: String = "localhost") async throws -> Outcome {
        let server = try ScriptedServer(tls: options, steps: [.waitForClose])
        defer { server.stop() }
        let (outcome, client) = try await shakeHands(server, host: host)
        if case .failed = outcome {
            // The socket goes with the handshake.
            #expect(await client.isClosed)
        }
        await client.close()
        return outcome
    }

    // C-19
    @Test(
        "a server that is trusted",
        arguments: [
            (TLSServerOptions.Version.tls12, TLSVersion.tls12), (.tls13, .tls13),
        ])
    func aServerThatIsTrusted(version: TLSServerOptions.Version, expected: TLSVersion) async throws {
        let options = try TLSServerOptions(authority: authority).with {
            $0.minimumVersion = version
            $0.maximumVersion = version
        }
        for host in ["localhost", "127.0.0.1"] {
            #expect(try await outcome(of: options, host: host) == .connected(expected, isResumed: false))
        }
    }

    // TLS-4, TLS-5
    @Test("a certificate out of its time") func aCertificateOutOfItsTime() async throws {
        for (validity, code) in [(.expired, -1201), (.notYetValid, -1204)] as [(CertificateProfile.Validity, Int)] {
            let profile = CertificateProfile.localhost.with { $0.validity = validity }
            #expect(try await outcome(of: TLSServerOptions(authority: authority, profile: profile)) == .failed(code))
        }
    }

    // TLS-4, TLS-5
    @Test("an untrusted certificate") func anUntrustedCertificate() async throws {
        #expect(try await outcome(of: TLSServerOptions(TestIdentity.selfSigned(.localhost))) == .failed(-1202))
        #expect(try await outcome(of: TLSServerOptions(authority: TestCertificateAuthority())) == .failed(-1203))
    }

    // TLS-4, TLS-5
    @Test("a certificate of another host") func aCertificateOfAnotherHost() async throws {
        let other = try TLSServerOptions(authority: authority, profile: .server("other.example", "127.0.0.2"))
        for host in ["localhost", "127.0.0.1"] { #expect(try await outcome(of: other, host: host) == .failed(-1202)) }
    }

    // C-19, TLS-5
    @Test("a version that is too old", arguments: [TLSServerOptions.Version.tls10, .tls11])
    func aVersionThatIsTooOld(version: TLSServerOptions.Version) async throws {
        let options = try TLSServerOptions(authority: authority).with {
            $0.minimumVersion = version
            $0.maximumVersion = version
        }
        #expect(try await outcome(of: options) == .failed(-1200))
    }

    // TLS-5: requested, and there is none
    @Test("a server that asks for a certificate") func aServerThatAsksForACertificate() async throws {
        let asking = try TLSServerOptions(authority: authority).with { $0.clientCertificate = .asked(trusting: []) }
        #expect(try await outcome(of: asking) == .connected(.tls13, isResumed: false))
    }

    // ERR-5
    @Test("a server that goes in the middle of the handshake") func aServerThatGoesInTheMiddleOfTheHandshake()
        async throws
    {
        for isReset in [false, true] {
            let server = try ScriptedServer { connection in
                _ = try connection.receive()
                if isReset { connection.reset() } else { connection.close() }
            }
            defer { server.stop() }
            #expect(try await shakeHands(server).0 == .failed(-1005))
        }
    }

    // TLS-5
    @Test("a server without TLS") func aServerWithoutTLS() async throws {
        let server = try ScriptedServer { connection in
            _ = try connection.receive()
            try connection.send("HTTP/1.1 400 Bad Request\r\n\r\n")
            try connection.waitForClose()
        }
        defer { server.stop() }
        #expect(try await shakeHands(server).0 == .failed(-1200))
    }

    // CONN-15, T-5: it may take for ever, and one that is cancelled reports nothing more
    @Test("a server that says nothing") func aServerThatSaysNothing() async throws {
        let hasHello = Signal("the client's hello")
        let server = try ScriptedServer { connection in
            _ = try connection.receive()
            hasHello.fire()
            try connection.waitForClose()
        }
        defer { server.stop() }
        let client = Client(to: server, host: "localhost", security: security)
        await client.start()
        try await hasHello.wait()
        #expect(client.outcomes.count == 0)
        #expect(await client.isClosed == false)
        await client.cancel()
        #expect(await client.isClosed)
        #expect(try await server.connection(0).waitForEnd() == .finished)
        #expect(client.outcomes.count == 0)
    }

    // TLS-5: a handshake that the server aborts in mid-message fails
    @Test("a server that stops in the middle of its hello") func aServerThatStopsInTheMiddleOfItsHello() async throws {
        let server = try ScriptedServer { connection in
            _ = try connection.receive()
            try connection.send([0x16, 0x03, 0x03, 0x00, 0x7A, 0x02, 0x00, 0x00])
            connection.close()
        }
        defer { server.stop() }
        #expect(try await shakeHands(server).0 == .failed(-1005))
    }

    // TLS-8: the next connection resumes, and not with another origin's session
    @Test("a second connection resumes the first one's session", arguments: [TLSServerOptions.Version.tls12, .tls13])
    func aSecondConnectionResumesTheFirstOnesSession(version: TLSServerOptions.Version) async throws {
        let options = try TLSServerOptions(authority: authority).with {
            $0.minimumVersion = version
            $0.maximumVersion = version
        }
        let server = try ScriptedServer(tls: options, steps: [.waitForClose])
        defer { server.stop() }
        let expected = version == .tls12 ? TLSVersion.tls12 : .tls13
        var outcomes: [Outcome] = []
        for host in ["localhost", "localhost", "127.0.0.1"] {
            let (outcome, client) = try await shakeHands(server, host: host)
            outcomes.append(outcome)
            // The tickets of TLS 1.3 come behind the handshake.
            let record = try await server.connection(outcomes.count - 1)
            _ = try await record.waitForHandshake()
            await client.read()
            await client.close()
        }
        #expect(outcomes == [false, true, false].map { .connected(expected, isResumed: $0) })
        security.forgetResumptions()
        let (outcome, client) = try await shakeHands(server)
        #expect(outcome == .connected(expected, isResumed: false))
        await client.close()
    }

    // TLS-4, TLS-8: resumptions bring new tickets, but no new proof that the server has its key
    @Test("resumed sessions end with the first one") func resumedSessionsEndWithTheFirstOne() async throws {
        let options = try TLSServerOptions(authority: authority).with { $0.minimumVersion = .tls13 }
        let server = try ScriptedServer(tls: options, steps: [.waitForClose])
        defer { server.stop() }
        let origin = ConnectionKey(isSecure: true, host: "localhost", port: UInt16(server.port))
        func visit(_ number: Int) async throws -> (Outcome, ConnectionSecurity.Session) {
            let (outcome, client) = try await shakeHands(server)
            _ = try await server.connection(number).waitForHandshake()
            await client.read()
            await client.close()
            let session = security.takeSession(for: origin, carriesHTTP: true)
            return (outcome, try #require(session))
        }
        func keep(_ resumption: TLSResumption, until end: Int64) {
            security.forgetResumptions()
            let session = ConnectionSecurity.Session(resumption: resumption, wasEvaluated: true, end: end)
            security.keep(session, of: security.generation, for: origin, carriesHTTP: true)
        }
        let first = try await visit(0)
        #expect(first.0 == .connected(.tls13, isResumed: false))
        let end = first.1.end - 1000
        keep(first.1.resumption, until: end)
        let second = try await visit(1)
        #expect(second.0 == .connected(.tls13, isResumed: true))
        #expect(second.1.end == end)
        keep(second.1.resumption, until: security.wallTime)
        #expect(security.takeSession(for: origin, carriesHTTP: true)?.end == nil)
    }

    // TLS-4, TLS-8
    @Test(
        "a session ends with the server's certificate, and after a week",
        arguments: [(1000, 0, 1000), (604_801, 0, 604_800), (1000, 1000, 605_800)] as [(Int64, Int64, Int64)])
    func sessionEnd(lifetime: Int64, now: Int64, end: Int64) throws {
        let from: Int64 = 1_700_000_000
        let validity = CertificateProfile.Validity.between(
            Date(timeIntervalSince1970: TimeInterval(from)), Date(timeIntervalSince1970: TimeInterval(from + lifetime)))
        let issued = try authority.issue(.localhost.with { $0.validity = validity })
        let leaf = try #require(Certificate(der: issued.certificate.der))
        #expect(ConnectionSecurity.sessionEnd(of: leaf, at: from + now) - from == end)
        #expect(ConnectionSecurity.sessionEnd(of: nil, at: from) - from == 604_800)
    }
}
