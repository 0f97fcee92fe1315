import LoadingEvents
import LoadingSemantics
import LoadingTransport
import TestSupport
import Testing

@testable import LoadingConnections

/// What becomes of HTTP/3 where TCP was faster, with a way for datagrams that is as slow as a test wants it to be.
@Suite(.needsHTTP3, .needs(.gtlsserver), .timeLimit(.minutes(1))) struct SlowHTTP3Tests {
    private let quic: GtlsServer
    private let tcp: ScriptedServer
    private let relay: DatagramRelay
    private let connectionPool: PoolOnLoop

    init() throws {
        quic = try GtlsServer(authority: TrustedAuthority.authority)
        let target = quic.port
        (tcp, relay) = try ScriptedServer.withDatagrams {
            try ScriptedServer(tls: TrustedAuthority.server(), steps: [.waitForClose])
        } on: {
            try DatagramRelay($0, to: target)
        }
        connectionPool = PoolOnLoop(to: tcp.port, isSecure: true)
    }

    private func end() async {
        await connectionPool.close()
        relay.stop()
        tcp.stop()
        quic.stop()
    }

    private var isTried: Bool {
        get async { await connectionPool.onLoop { $0.origins.values.first?.upgrade != nil } }
    }

    private var isHeld: Bool {
        get async { await connectionPool.onLoop { $0.origins.values.first?.upgrade?.held != nil } }
    }

    // CONN-8: one question about the server is enough at a time
    @Test("a request during a challenge over TCP causes no challenge over QUIC") func askedOnce() async throws {
        let first = await Visitor.ask(connectionPool, isToBeAsked: true)
        try await first.questions.waitFor(count: 1)
        relay.release()
        try await eventually { await isHeld }
        let second = await Visitor.ask(connectionPool, isToBeAsked: true)
        #expect(
            await connectionPool.onLoop { _ in second.request?.attempt == nil && second.request?.isWaiting == true }
        )
        await first.answer(.defaultHandling)
        #expect(try await first.outcome() == "http/1.1")
        // The other requires its own connection, and is asked about that: the first is kept.
        try await second.questions.waitFor(count: 1)
        await second.answer(.defaultHandling)
        #expect(try await second.outcome() == "http/1.1")
        // No request is asked now.
        let third = await Visitor.ask(connectionPool, isToBeAsked: true)
        try await third.questions.waitFor(count: 1)
        await third.answer(.defaultHandling)
        #expect(try await third.outcome() == "h3")
        #expect(relay.clientCount == 1)
        await end()
    }

    // AUTH-3, CONN-8: or the next load would be asked twice
    @Test("a rejection over TCP also rejects the QUIC handshake") func refused() async throws {
        let visitor = await Visitor.ask(connectionPool, isToBeAsked: true)
        try await visitor.questions.waitFor(count: 1)
        #expect(await isTried)
        await visitor.answer(.distrust)
        #expect(try await visitor.outcome() == "failed -1202")
        #expect(await connectionPool.onLoop { $0.origins.isEmpty })
        #expect(Loopback.datagramSocketCount(to: relay.port) == 0)
        await end()
    }

    // CONN-18: an attempt from before a flush serves no later request
    @Test("a flush while both are begun") func flushed() async throws {
        let visitor = await Visitor.ask(connectionPool) { $0.retireAll() }
        #expect(try await visitor.outcome() == "http/1.1")
        #expect(relay.clientCount == 1)
        #expect(await !isTried)
        #expect(Loopback.datagramSocketCount(to: relay.port) == 0)
        await end()
    }

    // CONN-18: nor does one for which a request waited
    @Test("a flush while a request waits for HTTP/3 only") func flushedUpgrade() async throws {
        // HTTP/1.1 is known, and one connection of that is idle.
        let first = await Visitor.ask(connectionPool, assumesHTTP3: false)
        #expect(try await first.outcome() == "http/1.1")
        await connectionPool.onLoop { _ in first.returnUnused() }
        let second = await Visitor.ask(connectionPool)
        #expect(await isTried)
        await connectionPool.onLoop { $0.retireAll() }
        // It leaves when it has waited for its time, and both are begun for it anew.
        #expect(try await second.outcome() == "http/1.1")
        #expect(await connectionPool.onLoop { $0.origins.values.first?.upgrade?.generation == $0.generation })
        #expect(relay.clientCount == 2 && Loopback.datagramSocketCount(to: relay.port) == 1)
        await end()
    }

    // CONN-14: the socket of an unneeded attempt is closed first
    @Test("without a descriptor an unneeded attempt is cancelled") func descriptors() async throws {
        let visitor = await Visitor.ask(connectionPool)
        #expect(try await visitor.outcome() == "http/1.1")
        #expect(Loopback.datagramSocketCount(to: relay.port) == 1)
        #expect(await connectionPool.onLoop { $0.closeOneIdle() })
        #expect(await !isTried)
        #expect(Loopback.datagramSocketCount(to: relay.port) == 0)
        #expect(await connectionPool.onLoop { $0.closeOneIdle() } == false)
        await end()
    }

    // CONN-7, CONN-8: the server may have HTTP/3 only
    @Test("HTTP/3 that failed recently is tried again where TCP fails", arguments: [true, false])
    func onlyHTTP3(isAssumed: Bool) async throws {
        tcp.stop()
        relay.release()
        let origin = connectionPool.origin
        await connectionPool.onLoop {
            $0.http3Services.failed(AlternativeService(port: origin.port), of: origin.hostPort, at: $0.loop.now)
        }
        let visitor = await Visitor.ask(connectionPool, assumesHTTP3: isAssumed)
        #expect(try await visitor.outcome() == (isAssumed ? "h3" : "failed -1004"))
        #expect(relay.clientCount == (isAssumed ? 1 : 0))
        await end()
    }

    // CONN-8, C-24: where several connections are made at once
    @Test("of several attempts one goes on") func several() async throws {
        let first = await Visitor.ask(connectionPool, assumesHTTP3: false)
        #expect(try await first.outcome() == "http/1.1")
        let others = await [Visitor.ask(connectionPool), Visitor.ask(connectionPool), Visitor.ask(connectionPool)]
        for other in others { #expect(try await other.outcome() == "http/1.1") }
        #expect(relay.clientCount == 3)
        #expect(Loopback.datagramSocketCount(to: relay.port) == 1)
        relay.release()
        try await eventually { await isHeld }
        #expect(try await Visitor.ask(connectionPool).outcome() == "h3")
        await end()
    }
}

/// A client for one connection of a pool, which keeps it and notes its version. Confined to the pool's
/// loop.
private final class Visitor: ConnectionRequestDelegate, @unchecked Sendable {
    // Sendable because what is mutable is touched on the loop only.

    let questions = EventRecorder<Bool>()
    private let recorded = EventRecorder<String>()
    private(set) var request: ConnectionRequest?
    private var question: ConnectionChallenge?
    private var carrier: (any HTTPExchangeStream)?
    private let connectionPool: PoolOnLoop
    private let isToBeAsked: Bool

    private init(_ connectionPool: PoolOnLoop, isToBeAsked: Bool) {
        self.connectionPool = connectionPool
        self.isToBeAsked = isToBeAsked
    }

    /// - Parameter then: What happens before the loop's next turn.
    static func ask(
        _ connectionPool: PoolOnLoop, isToBeAsked: Bool = false, assumesHTTP3: Bool = true,
        then: @escaping @Sendable (ConnectionPool) -> Void = { _ in }
    ) async -> Visitor {
        let visitor = Visitor(connectionPool, isToBeAsked: isToBeAsked)
        await connectionPool.onLoop { pool in
            let request = ConnectionRequest(
                key: connectionPool.origin, priority: 0.5, acceptsReused: true, isRepeatable: true,
                assumesHTTP3: assumesHTTP3, delegate: visitor)
            visitor.request = request
            pool.request(request)
            then(pool)
        }
        return visitor
    }

    /// The version of the connection, once there is one, or why there is none.
    func outcome() async throws -> String? { try await recorded.waitFor(count: 1).first }

    func answer(_ answer: ConnectionChallenge.Answer) async {
        let answer = LoopBox(answer, on: connectionPool.loop)
        await connectionPool.onLoop { _ in self.question?.answer(answer.value) }
    }

    func returnUnused() {
        carrier?.returnUnused()
        carrier = nil
    }

    func connectionIsBeingMade() {}

    func connectionReceived(challenge question: ConnectionChallenge) -> Bool {
        guard isToBeAsked else { return false }
        self.question = question
        questions.record(true)
        return true
    }

    var proxyAuthorizer: (any ProxyAuthorizer)? { nil }

    func connectionBecameAvailable(_ connection: any HTTPExchangeStream, isReused: Bool, events: [LoadEvent]) {
        carrier = connection
        recorded.record(connection.facts(isReused: isReused).protocolName)
    }

    func connectionFailed(_ failure: ConnectionFailure, events: [LoadEvent]) {
        recorded.record("failed \(failure.error.code)")
    }
}
