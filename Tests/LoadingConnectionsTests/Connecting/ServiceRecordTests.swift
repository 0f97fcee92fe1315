import Foundation
import LoadingEvents
import LoadingSemantics
import LoadingTransport
import TestSupport
import Testing

@testable import LoadingConnections

/// What records of DNS change about the making of a connection, with a name server of the test's own.
@Suite(.needsHTTP3) struct ServiceRecordTests {
    private static let host = "a.example"
    private let hosts = HostTable([host: ["127.0.0.1"]])

    /// A server over TCP that leaves every connection open.
    private func tcpServer() throws -> ScriptedServer {
        let tls = try TrustedAuthority.server(.server(CertificateProfile.Name(Self.host)))
        return try ScriptedServer(tls: tls, steps: [.waitForClose])
    }

    private func quicServer(_ name: String = host) throws -> GtlsServer {
        try GtlsServer(
            authority: TrustedAuthority.authority, profile: .server(CertificateProfile.Name(name)))
    }

    private func found(_ port: Int, at target: String = host, _ protocols: String...) -> HTTPSRecordAnswer {
        let record = HTTPSRecord(
            priority: 1, target: target, protocols: protocols.map { Array($0.utf8) }, port: UInt16(port))
        return .success(HTTPSRecordSet([record], lifetime: 60))
    }

    private func connectionPool(_ tcp: Int, _ records: ServiceBook, isAlwaysDirect: Bool = true) throws
        -> PoolOnLoop
    {
        _ = try TrustedAuthority.authority
        return PoolOnLoop(
            to: tcp, host: Self.host, isSecure: true, isAlwaysDirect: isAlwaysDirect,
            resolver: NameResolver(ask: hosts.answer, askForServices: records.answer))
    }

    // CONN-6
    @Test("an HTTPS record makes the first connection use HTTP/3", .needs(.gtlsserver))
    func first() async throws {
        let quic = try quicServer()
        defer { quic.stop() }
        let tcp = try tcpServer()
        defer { tcp.stop() }
        let records = ServiceBook(found(quic.port, "h2", "h3"))
        let connectionPool = try connectionPool(tcp.port, records)
        let requester = await ConnectionRequester.ask(connectionPool)
        #expect(try await requester.version() == "h3")
        #expect(records.asked.events == [HTTPSRecordQuery(Self.host, port: UInt16(tcp.port))])
        #expect(tcp.connectionCount == 0)
        // The name was asked about from the beginning on, and the metrics say so.
        let kinds = requester.events.map(\.kind)
        #expect(kinds.first == .resolutionStarted(host: Self.host))
        #expect(kinds.count { if case .resolutionStarted = $0 { true } else { false } } == 1)
        await connectionPool.close()
    }

    // CONN-6: RFC 9460 §3, the server there has to be good for the origin's name, and for no other
    @Test("a record that leads to another host", .needs(.gtlsserver), arguments: [true, false])
    func otherHost(isTrusted: Bool) async throws {
        hosts.set("b.example", ["127.0.0.1"])
        let quic = try quicServer(isTrusted ? Self.host : "b.example")
        defer { quic.stop() }
        let tcp = try tcpServer()
        defer { tcp.stop() }
        let connectionPool = try connectionPool(tcp.port, ServiceBook(found(quic.port, at: "b.example", "h3")))
        #expect(try await ConnectionRequester.ask(connectionPool).version() == (isTrusted ? "h3" : "http/1.1"))
        #expect(hosts.asked.events.contains(AddressQuery("b.example", .ipv4)))
        await connectionPool.close()
    }

    // CONN-6: a session with proxies may be meant to reach that host through one
    @Test("with proxies no alternative on another host is used") func proxies() async throws {
        let tcp = try tcpServer()
        defer { tcp.stop() }
        let records = ServiceBook(found(tcp.port, at: "b.example", "h3"))
        let connectionPool = try connectionPool(tcp.port, records, isAlwaysDirect: false)
        #expect(try await ConnectionRequester.ask(connectionPool).version() == "http/1.1")
        #expect(!hosts.asked.events.contains { $0.host == "b.example" })
        await connectionPool.close()
    }

    // CONN-6: and a question that fails, or finds nothing, costs nothing
    @Test("a record without HTTP/3 leads to TCP at once", arguments: [0, 1, 2])
    func nothing(kind: Int) async throws {
        let (tcp, datagrams) = try ScriptedServer.withDatagrams(tcpServer) { try SilentDatagramPort($0) }
        defer {
            datagrams.close()
            tcp.stop()
        }
        let answers = [found(tcp.port, "h2"), .success(.none), .failure(.tryAgain)]
        let records = ServiceBook(answers[kind])
        let connectionPool = try connectionPool(tcp.port, records)
        for count in 1...2 {
            let requester = await ConnectionRequester.ask(connectionPool, keeps: true)
            #expect(try await requester.version() == "http/1.1")
            // The second time it is remembered.
            #expect(records.asked.count == 1)
            #expect(tcp.connectionCount == count)
        }
        #expect(!datagrams.hasReceived)
        await connectionPool.close()
    }

    // CONN-6, CONN-9: RFC 8305 §3
    @Test("an unanswered query delays TCP by its limit, and no longer") func silence() async throws {
        let tcp = try tcpServer()
        defer { tcp.stop() }
        let records = ServiceBook(.success(.none))
        records.hold()
        defer { records.release() }
        let connectionPool = try connectionPool(tcp.port, records)
        let requester = await ConnectionRequester.ask(connectionPool)
        #expect(try await requester.version() == "http/1.1")
        // It was asked, and is still unanswered.
        #expect(records.asked.count == 1 && records.isHeld)
        let resolved = try #require(requester.time { if case .resolutionEnded = $0 { true } else { false } })
        let connecting = try #require(requester.time { if case .connectStarted = $0 { true } else { false } })
        // It counts from the beginning of the turn in which the addresses came, and the record of that is a moment
        // younger.
        #expect(connecting - resolved >= TimeLimits.standard.resolutionDelay / 2)
        // The timer's moment, and what a machine that is busy adds to it.
        #expect(connecting - resolved < TimeLimits.standard.resolutionDelay + 1_000_000_000)
        await connectionPool.close()
    }

    // CONN-6
    @Test("a record that comes late is for the next connection", .needs(.gtlsserver)) func late() async throws {
        let quic = try quicServer()
        defer { quic.stop() }
        let tcp = try tcpServer()
        defer { tcp.stop() }
        let records = ServiceBook(found(quic.port, "h3"))
        records.hold()
        let connectionPool = try connectionPool(tcp.port, records)
        #expect(try await ConnectionRequester.ask(connectionPool, keeps: true).version() == "http/1.1")
        records.release()
        let learned = EventRecorder<Bool>()
        await connectionPool.onLoop { [loop = connectionPool.loop] pool in
            let question = HTTPSRecordQuery(Self.host, port: UInt16(tcp.port))
            _ = pool.resolver.findServices(question, on: loop) { _, _ in learned.record(true) }
        }
        try await learned.waitFor(count: 1)
        #expect(try await ConnectionRequester.ask(connectionPool).version() == "h3")
        #expect(records.asked.count == 1)
        #expect(tcp.connectionCount == 1)
        await connectionPool.close()
    }

    // CONN-8: neither the place that a record names, nor, where the origin itself is that, the question
    @Test("a place that has failed is not tried again", arguments: [true, false])
    func broken(isOwn: Bool) async throws {
        let (tcp, datagrams) = try ScriptedServer.withDatagrams(tcpServer) { try SilentDatagramPort(isOwn ? $0 : 0) }
        defer {
            datagrams.close()
            tcp.stop()
        }
        let records = ServiceBook(found(datagrams.port, "h3"))
        let connectionPool = try connectionPool(tcp.port, records)
        let isTrying: @Sendable (ConnectionPool) -> Bool = { $0.origins.values.contains { $0.upgrade != nil } }
        #expect(try await ConnectionRequester.ask(connectionPool, keeps: true).version() == "http/1.1")
        #expect(datagrams.hasReceived)
        // TCP was faster, and the attempt goes on to its own end.
        #expect(await connectionPool.onLoop(isTrying))
        datagrams.close()
        try await eventually { !(await connectionPool.onLoop(isTrying)) }
        let others = try SilentDatagramPort(datagrams.port)
        defer { others.close() }
        // That it is remembered would hide that it was asked.
        await connectionPool.onLoop { $0.resolver.forgetAnswers() }
        #expect(try await ConnectionRequester.ask(connectionPool, keeps: true).version() == "http/1.1")
        #expect(!others.hasReceived)
        #expect(records.asked.count == (isOwn ? 1 : 2))
        await connectionPool.close()
    }

    // C-19, CONN-2: and none is asked where its answer would be of no use
    @Test("no record is asked for without TLS 1.3, or for an origin in the clear", arguments: [true, false])
    func notAsked(isSecure: Bool) async throws {
        let tcp = isSecure ? try tcpServer() : try ScriptedServer(steps: [.waitForClose])
        defer { tcp.stop() }
        let records = ServiceBook(found(tcp.port, "h3"))
        var configuration = TLSConfiguration()
        if isSecure { configuration.maximumVersion = .tls12 }
        let connectionPool = PoolOnLoop(
            to: tcp.port, host: Self.host, isSecure: isSecure, configuration: configuration,
            resolver: NameResolver(ask: hosts.answer, askForServices: records.answer))
        #expect(try await ConnectionRequester.ask(connectionPool).version() == "http/1.1")
        #expect(records.asked.count == 0)
        await connectionPool.close()
    }

    enum Moment: CaseIterable {
        /// Nothing is known.
        case asking
        /// The addresses are, and TCP waits for the record.
        case waiting
        /// The record is, and QUIC has no answer.
        case handshaking
    }

    // T-5, S-83: after it is cancelled, at any time, there is no further callback
    @Test("cancelled while a record is awaited", arguments: Moment.allCases)
    func cancelled(moment: Moment) async throws {
        let tcp = try tcpServer()
        defer { tcp.stop() }
        let datagrams = try SilentDatagramPort()
        defer { datagrams.close() }
        let records = ServiceBook(found(datagrams.port, "h3"))
        if moment != .handshaking { records.hold() }
        if moment == .asking { hosts.hold(Self.host) }
        let connectionPool = try connectionPool(tcp.port, records)
        let requester = await ConnectionRequester.ask(connectionPool)
        try await records.asked.waitFor(count: 1)
        try await hosts.asked.waitFor(count: 2)
        switch moment {
        case .asking: break
        case .waiting:
            try await eventually {
                await connectionPool.onLoop { _ in
                    requester.request?.eventsSoFar.contains {
                        if case .resolutionEnded = $0.kind { true } else { false }
                    } == true
                }
            }
        case .handshaking: try await eventually { datagrams.hasReceived }
        }
        await connectionPool.onLoop { _ in requester.withdraw() }
        #expect(await connectionPool.onLoop { $0.connectionCount } == 0)
        records.release()
        hosts.releaseAll()
        // The answers come on the loop, and end there.
        await connectionPool.onLoop { _ in }
        try await eventually { await connectionPool.onLoop { $0.resolver.queuedQuestionCount == 0 } }
        #expect(requester.recorded.events == [])
        await connectionPool.close()
    }
}

/// What a name server knows about services, and how long it takes to say so.
private final class ServiceBook: Sendable {
    let asked = EventRecorder<HTTPSRecordQuery>()
    private let known: HTTPSRecordAnswer
    private let held = Watched(false)

    init(_ answer: HTTPSRecordAnswer) { known = answer }

    var isHeld: Bool { held.current }
    func hold() { held.withValue { $0 = true } }
    func release() { held.withValue { $0 = false } }

    func answer(_ question: HTTPSRecordQuery) -> HTTPSRecordAnswer {
        asked.record(question)
        try? held.wait(for: "the release of records", within: .seconds(60)) { $0 ? nil : () }
        return known
    }
}

/// A client for one connection of a pool, which notes its version. Confined to the pool's loop.
private final class ConnectionRequester: ConnectionRequestDelegate, @unchecked Sendable {
    // Sendable because what is mutable is touched on the loop only, or, the events, after they were delivered.

    let recorded = EventRecorder<String>()
    private(set) var request: ConnectionRequest?
    private(set) var events: [LoadEvent] = []
    private let connectionPool: PoolOnLoop
    private let keeps: Bool

    private init(_ connectionPool: PoolOnLoop, keeps: Bool) {
        self.connectionPool = connectionPool
        self.keeps = keeps
    }

    /// - Parameter keeps: Whether the next one gets another connection.
    static func ask(_ connectionPool: PoolOnLoop, keeps: Bool = false) async -> ConnectionRequester {
        let requester = ConnectionRequester(connectionPool, keeps: keeps)
        await connectionPool.onLoop { pool in
            let request = ConnectionRequest(
                key: connectionPool.origin, priority: 0.5, acceptsReused: true, isRepeatable: true, delegate: requester)
            requester.request = request
            pool.request(request)
        }
        return requester
    }

    /// Of the connection, once there is one.
    func version() async throws -> String? { try await recorded.waitFor(count: 1).first }

    func time(_ isIt: (LoadEvent.Kind) -> Bool) -> Int64? { events.first { isIt($0.kind) }?.time }

    func withdraw() {
        if let request { connectionPool.pool.withdraw(request) }
    }

    func connectionIsBeingMade() {}
    func connectionReceived(challenge question: ConnectionChallenge) -> Bool { false }
    var proxyAuthorizer: (any ProxyAuthorizer)? { nil }

    func connectionBecameAvailable(_ connection: any HTTPExchangeStream, isReused: Bool, events: [LoadEvent]) {
        self.events = events
        let version = connection.facts(isReused: isReused).protocolName
        if !keeps { connection.returnUnused() }
        recorded.record(version)
    }

    func connectionFailed(_ failure: ConnectionFailure, events: [LoadEvent]) {
        recorded.record("failed \(failure.error.code)")
    }
}
