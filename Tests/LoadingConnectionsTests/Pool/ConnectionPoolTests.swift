import LoadingEvents
import LoadingSemantics
import LoadingTestSupport
import LoadingTransport
import TestSupport
import Testing

@testable import LoadingConnections

/// A pool, asked directly.
@Suite struct ConnectionPoolTests {
    /// A server that leaves every connection open.
    private func waitingServer() throws -> ScriptedServer { try ScriptedServer(steps: [.waitForClose]) }

    // CONN-1, C-24
    @Test("no more connections than allowed", arguments: [1, 3]) func noMoreConnectionsThanAllowed(limit: Int)
        async throws
    {
        let server = try waitingServer()
        defer { server.stop() }
        let connectionPool = PoolOnLoop(to: server.port, limit: limit)
        var clients: [PoolClient] = []
        for index in 0..<limit + 2 { clients.append(await connectionPool.client("\(index)", keeps: true)) }
        try await connectionPool.recorded.waitUntil { $0.count { $0.hasSuffix("took a new one") } == limit }
        #expect(await connectionPool.onLoop { $0.connectionCount } == limit)
        let served = clients
        await connectionPool.onLoop { _ in served[0].returnUnused() }
        #expect(connectionPool.recorded.events.last == "\(limit) took a used one")
        await connectionPool.onLoop { _ in served[limit].returnUnused() }
        #expect(connectionPool.recorded.events.last == "\(limit + 1) took a used one")
        #expect(await connectionPool.onLoop { $0.connectionCount } == limit)
        _ = try await server.connection(limit - 1)
        #expect(server.connectionCount == limit)
        await connectionPool.close()
    }

    // CONN-1: by priority, then first come first served
    @Test("pending requests are served by priority, then in order") func pendingRequestsAreServedByPriorityThenInOrder()
        async throws
    {
        let server = try waitingServer()
        defer { server.stop() }
        let connectionPool = PoolOnLoop(to: server.port, limit: 1)
        let first = await connectionPool.client("first", keeps: true)
        try await connectionPool.recorded.wait(for: "first took a new one")
        for (name, priority) in [("b1", 0.5), ("c", 0.1), ("b2", 0.5), ("a", 0.9), ("b3", 0.5)] as [(_, Float)] {
            _ = await connectionPool.client(name, priority: priority)
        }
        await connectionPool.onLoop { _ in first.returnUnused() }
        #expect(
            Array(connectionPool.recorded.events.dropFirst(2))
                == ["a", "b1", "b2", "b3", "c"].map { "\($0) took a used one" })
        await connectionPool.close()
    }

    // T-19, CONN-1: a priority may be changed while one waits
    @Test("a pending request moves with its priority") func aPendingRequestMovesWithItsPriority() async throws {
        let server = try waitingServer()
        defer { server.stop() }
        let connectionPool = PoolOnLoop(to: server.port, limit: 1)
        let first = await connectionPool.client("first", keeps: true)
        try await connectionPool.recorded.wait(for: "first took a new one")
        var clients: [PoolClient] = []
        for name in ["a", "b", "c", "d"] { clients.append(await connectionPool.client(name)) }
        let waiting = clients
        await connectionPool.onLoop { pool in
            for (index, priority) in [(3, 0.9), (0, 0.1), (1, 0.9), (2, 0.8), (2, 0.5)] as [(_, Float)] {
                if let request = waiting[index].request { pool.setPriority(priority, of: request) }
            }
            first.returnUnused()
        }
        #expect(
            Array(connectionPool.recorded.events.dropFirst(2)) == ["b", "d", "c", "a"].map { "\($0) took a used one" })
        await connectionPool.close()
    }

    // CONN-1, CONN-24: an attempt whose request was served otherwise serves the next request
    @Test("an attempt is passed on") func anAttemptIsPassedOn() async throws {
        let server = try waitingServer()
        defer { server.stop() }
        let hosts = HostTable(["host": ["127.0.0.1"]])
        let resolver = hosts.resolver()
        let connectionPool = PoolOnLoop(to: server.port, host: "host", limit: 2, resolver: resolver)
        let a = await connectionPool.client("a", keeps: true)
        try await connectionPool.recorded.wait(for: "a took a new one")
        // The second connection takes its time.
        resolver.forgetAnswers()
        hosts.hold("host")
        let b = await connectionPool.client("b", keeps: true)
        let c = await connectionPool.client("c", keeps: true)
        #expect(await connectionPool.onLoop { _ in [b, c].map { $0.request?.isBeingServed } } == [true, false])
        await connectionPool.onLoop { _ in a.returnUnused() }
        #expect(await connectionPool.onLoop { _ in c.request?.isBeingServed } == true)
        hosts.releaseAll()
        try await connectionPool.recorded.wait(for: "c took a new one")
        #expect(
            connectionPool.recorded.events == [
                "a is served", "a took a new one", "b is served", "c is served", "b took a used one",
                "c took a new one",
            ])
        _ = try await server.connection(1)
        #expect(server.connectionCount == 2)
        await connectionPool.close()
    }

    // CONN-1, T-5: without a waiting request it is cancelled
    @Test("an attempt without a waiting request") func anAttemptWithoutAWaitingRequest() async throws {
        let server = try waitingServer()
        defer { server.stop() }
        let hosts = HostTable(["host": ["127.0.0.1"]])
        hosts.hold("host")
        let connectionPool = PoolOnLoop(to: server.port, host: "host", limit: 2, resolver: hosts.resolver())
        let a = await connectionPool.client("a", keeps: true)
        let b = await connectionPool.client("b", keeps: true)
        #expect(await connectionPool.onLoop { $0.connectionCount } == 2)
        await connectionPool.onLoop { _ in a.withdraw() }
        #expect(await connectionPool.onLoop { $0.connectionCount } == 1)
        await connectionPool.onLoop { _ in b.withdraw() }
        #expect(await connectionPool.onLoop { $0.connectionCount } == 0)
        hosts.releaseAll()
        #expect(connectionPool.recorded.events == ["a is served", "b is served"])
        #expect(server.connectionCount == 0)
        await connectionPool.close()
    }

    // CONN-3, C-24: the pool remembers a limited number of such servers
    @Test("a server that supports only HTTP/1.1 is known, even after the pool has forgotten it")
    func aForgottenServerOfHTTP1() async throws {
        let server = try ScriptedServer(tls: TrustedAuthority.server(), steps: [.waitForClose])
        defer { server.stop() }
        var configuration = TLSConfiguration()
        configuration.applicationProtocols = ["h2", "http/1.1"]
        let connectionPool = PoolOnLoop(
            to: server.port, host: "localhost", isSecure: true, limit: 3, configuration: configuration)
        _ = await connectionPool.client("a", keeps: true)
        try await connectionPool.recorded.wait(for: "a took a new one")
        let attempts = await connectionPool.onLoop { [origin = connectionPool.origin] pool -> Int? in
            pool.serversOfHTTP1 = []
            for name in ["b", "c"] { PoolClient(name, of: connectionPool, keeps: true, sends: nil).ask() }
            return pool.origins[origin]?.attemptCount
        }
        #expect(attempts == 2)
        try await connectionPool.recorded.waitUntil { $0.count { $0.hasSuffix("took a new one") } == 3 }
        await connectionPool.close()
    }

    // CONN-12, CONN-1: each attempt fails for one, and the others get one of their own
    @Test("a server that refuses") func aServerThatRefuses() async throws {
        let refusing = try RefusingPort()
        let connectionPool = PoolOnLoop(to: refusing.port, limit: 1)
        for name in ["a", "b", "c"] { _ = await connectionPool.client(name) }
        #expect(
            try await connectionPool.recorded.waitFor(count: 6) == [
                "a is served", "a failed -1004", "b is served", "b failed -1004", "c is served", "c failed -1004",
            ])
        #expect(await connectionPool.onLoop { $0.connectionCount } == 0)
        await connectionPool.close()
    }

    // CONN-10: a request that was lost on a used connection gets a new one, and the other old ones go
    @Test("a new connection was asked for") func aNewConnectionWasAskedFor() async throws {
        let server = try waitingServer()
        defer { server.stop() }
        let connectionPool = PoolOnLoop(to: server.port, limit: 2)
        let a = await connectionPool.client("a", keeps: true)
        let b = await connectionPool.client("b", keeps: true)
        try await connectionPool.recorded.waitFor(count: 4)
        await connectionPool.onLoop { _ in
            a.returnUnused()
            b.returnUnused()
        }
        _ = await connectionPool.client("c", acceptsReused: false, keeps: true)
        try await connectionPool.recorded.wait(for: "c took a new one")
        #expect(await connectionPool.onLoop { $0.connectionCount } == 1)
        try await server.connection(0).waitForEnd()
        try await server.connection(1).waitForEnd()
        await connectionPool.close()
    }

    // CONN-1, CONN-10: a released connection is closed for a request that needs a new one only if none is being made
    @Test("a request that waits for its new connection keeps none from the others")
    func aRequestThatWaitsForItsNewConnectionKeepsNoneFromTheOthers() async throws {
        let server = try waitingServer()
        defer { server.stop() }
        let hosts = HostTable(["host": ["127.0.0.1"]])
        let resolver = hosts.resolver()
        let connectionPool = PoolOnLoop(to: server.port, host: "host", limit: 2, resolver: resolver)
        let a = await connectionPool.client("a", keeps: true)
        try await connectionPool.recorded.wait(for: "a took a new one")
        // The second connection takes its time.
        resolver.forgetAnswers()
        hosts.hold("host")
        _ = await connectionPool.client("b", acceptsReused: false, keeps: true)
        // c waits, and d comes when the first connection is idle.
        let c = await connectionPool.client("c", keeps: true)
        await connectionPool.onLoop { _ in a.returnUnused() }
        await connectionPool.onLoop { _ in c.returnUnused() }
        let d = await connectionPool.client("d", keeps: true)
        // Another one that needs a new connection does need room for it.
        _ = await connectionPool.client("e", acceptsReused: false, keeps: true)
        await connectionPool.onLoop { _ in d.returnUnused() }
        #expect(await connectionPool.onLoop { $0.connectionCount } == 2)
        try await server.connection(0).waitForEnd()
        #expect(
            connectionPool.recorded.events == [
                "a is served", "a took a new one", "b is served", "c took a used one", "d took a used one",
                "e is served",
            ])
        hosts.releaseAll()
        try await connectionPool.recorded.waitUntil { events in
            ["b took a new one", "e took a new one"].allSatisfy { events.contains($0) }
        }
        await connectionPool.close()
    }

    /// A server that answers with the beginning of a body.
    private func serverOfBeginnings(of length: Int) throws -> ScriptedServer {
        try ScriptedServer(steps: [
            .expectRequest, .send("HTTP/1.1 401 Unauthorized\r\nContent-Length: \(length)\r\n\r\nbeginning"),
            .waitForClose,
        ])
    }

    // AUTH-19: in the middle of a conversation, it is of no use to others
    @Test("a held connection that is drained is closed when it is not needed any more")
    func aHeldConnectionThatIsDrainedIsClosed() async throws {
        let server = try serverOfBeginnings(of: 100)
        defer { server.stop() }
        let connectionPool = PoolOnLoop(to: server.port)
        let a = await connectionPool.client("a", sends: "GET")
        try await connectionPool.recorded.wait(for: "a received 401")
        await connectionPool.onLoop { _ in
            a.connection?.hold()
            a.connection?.drain(then: nil)
            a.connection?.endHold()
        }
        #expect(await connectionPool.onLoop { $0.connectionCount } == 0)
        try await server.connection(0).waitForEnd()
        await connectionPool.close()
    }

    // AUTH-19, R-23: on another connection the conversation would begin anew
    @Test("the rest of a response is awaited longer on a held connection")
    func theRestOfAResponseIsAwaitedLongerOnAHeldConnection() async throws {
        let server = try serverOfBeginnings(of: 100)
        defer { server.stop() }
        let stepped = try SteppedLoop()
        let connectionPool = PoolOnLoop(to: server.port, on: stepped.loop)
        let a = await connectionPool.client("a", sends: "GET")
        try await connectionPool.recorded.wait(for: "a received 401")
        await connectionPool.onLoop { _ in
            a.connection?.hold()
            a.connection?.drain(then: nil)
        }
        try await stepped.step(by: stepped.limits.heldDrainTimeout - 1)
        #expect(await connectionPool.onLoop { $0.connectionCount } == 1)
        try await stepped.step(by: 1)
        #expect(await connectionPool.onLoop { $0.connectionCount } == 0)
        #expect(await connectionPool.onLoop { _ in a.connection?.hasGivenUpDraining } == true)
        await connectionPool.close()
    }

    // CONN-18
    @Test("after a flush nothing old is used") func afterAFlushNothingOldIsUsed() async throws {
        let server = try waitingServer()
        defer { server.stop() }
        let connectionPool = PoolOnLoop(to: server.port)
        let idle = await connectionPool.client("idle", keeps: true)
        let used = await connectionPool.client("used", keeps: true)
        try await connectionPool.recorded.waitFor(count: 4)
        await connectionPool.onLoop { pool in
            idle.returnUnused()
            pool.retireAll()
            used.returnUnused()
        }
        #expect(await connectionPool.onLoop { $0.connectionCount } == 0)
        _ = await connectionPool.client("later")
        try await connectionPool.recorded.wait(for: "later took a new one")
        await connectionPool.close()
    }

    // CONN-19: what the server closes while it is idle holds nothing any more
    @Test("a pool is released though its idle connections were closed by the server")
    func aPoolGoesThoughItsIdleConnectionsWereClosedByTheServer() async throws {
        let isIdle = Signal("an idle connection")
        let server = try ScriptedServer(steps: [.wait(isIdle), .close])
        defer { server.stop() }
        let pool = WeakPool()
        let loop: EventLoop
        do {
            let connectionPool = PoolOnLoop(to: server.port)
            loop = connectionPool.loop
            _ = await connectionPool.client("a")
            try await connectionPool.recorded.wait(for: "a took a new one")
            isIdle.fire()
            try await server.connection(0).waitUntilClosed()
            try await eventually { await connectionPool.onLoop { $0.connectionCount } == 0 }
            await connectionPool.onLoop { pool.pool = $0 }
        }
        try await eventually { await loop.run { pool.pool == nil } }
    }

    private final class WeakPool: @unchecked Sendable {
        // Sendable because it is used on the pool's loop only.
        weak var pool: ConnectionPool?
    }
}
