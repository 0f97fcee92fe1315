import LoadingEvents
import LoadingSemantics
import LoadingTransport
import TestSupport
import Testing

@testable import LoadingConnections

/// A pool, asked directly.
@Suite struct ConnectionPoolTests {
    /// A server that leaves every connection open.
    private func patientServer() throws -> ScriptedServer { try ScriptedServer(steps: [.waitForClose]) }

    // CONN-1, C-24
    @Test("no more connections than allowed", arguments: [1, 3]) func noMoreConnectionsThanAllowed(limit: Int)
        async throws
    {
        let server = try patientServer()
        defer { server.stop() }
        let house = PoolOnLoop(to: server.port, limit: limit)
        var customers: [Customer] = []
        for index in 0..<limit + 2 { customers.append(await house.customer("\(index)", keeps: true)) }
        try await house.heard.waitUntil { $0.count { $0.hasSuffix("took a new one") } == limit }
        #expect(await house.onLoop { $0.connectionCount } == limit)
        let served = customers
        await house.onLoop { _ in served[0].returnUnused() }
        #expect(house.heard.events.last == "\(limit) took a used one")
        await house.onLoop { _ in served[limit].returnUnused() }
        #expect(house.heard.events.last == "\(limit + 1) took a used one")
        #expect(await house.onLoop { $0.connectionCount } == limit)
        _ = try await server.connection(limit - 1)
        #expect(server.connectionCount == limit)
        await house.close()
    }

    // CONN-1: by priority, then first come first served
    @Test("who waits is served by priority and then in order") func whoWaitsIsServedByPriorityAndThenInOrder()
        async throws
    {
        let server = try patientServer()
        defer { server.stop() }
        let house = PoolOnLoop(to: server.port, limit: 1)
        let first = await house.customer("first", keeps: true)
        try await house.heard.wait(for: "first took a new one")
        for (name, priority) in [("b1", 0.5), ("c", 0.1), ("b2", 0.5), ("a", 0.9), ("b3", 0.5)] as [(_, Float)] {
            _ = await house.customer(name, priority: priority)
        }
        await house.onLoop { _ in first.returnUnused() }
        #expect(Array(house.heard.events.dropFirst(2)) == ["a", "b1", "b2", "b3", "c"].map { "\($0) took a used one" })
        await house.close()
    }

    // T-19, CONN-1: a priority may be changed while one waits
    @Test("who waits moves with his priority") func whoWaitsMovesWithHisPriority() async throws {
        let server = try patientServer()
        defer { server.stop() }
        let house = PoolOnLoop(to: server.port, limit: 1)
        let first = await house.customer("first", keeps: true)
        try await house.heard.wait(for: "first took a new one")
        var customers: [Customer] = []
        for name in ["a", "b", "c", "d"] { customers.append(await house.customer(name)) }
        let waiting = customers
        await house.onLoop { pool in
            for (index, priority) in [(3, 0.9), (0, 0.1), (1, 0.9), (2, 0.8), (2, 0.5)] as [(_, Float)] {
                if let request = waiting[index].request { pool.setPriority(priority, of: request) }
            }
            first.returnUnused()
        }
        #expect(Array(house.heard.events.dropFirst(2)) == ["b", "d", "c", "a"].map { "\($0) took a used one" })
        await house.close()
    }

    // CONN-1, CONN-24: a connection that is being made for somebody who was served otherwise goes to the next
    @Test("an attempt is passed on") func anAttemptIsPassedOn() async throws {
        let server = try patientServer()
        defer { server.stop() }
        let book = NameBook(["host": ["127.0.0.1"]])
        let resolver = book.resolver()
        let house = PoolOnLoop(to: server.port, host: "host", limit: 2, resolver: resolver)
        let a = await house.customer("a", keeps: true)
        try await house.heard.wait(for: "a took a new one")
        // The second connection takes its time.
        resolver.forgetAnswers()
        book.hold("host")
        let b = await house.customer("b", keeps: true)
        let c = await house.customer("c", keeps: true)
        #expect(await house.onLoop { _ in [b, c].map { $0.request?.isBeingServed } } == [true, false])
        await house.onLoop { _ in a.returnUnused() }
        #expect(await house.onLoop { _ in c.request?.isBeingServed } == true)
        book.releaseAll()
        try await house.heard.wait(for: "c took a new one")
        #expect(
            house.heard.events == [
                "a is served", "a took a new one", "b is served", "c is served", "b took a used one",
                "c took a new one",
            ])
        _ = try await server.connection(1)
        #expect(server.connectionCount == 2)
        await house.close()
    }

    // CONN-1, T-5: without anybody to have it, it is given up
    @Test("an attempt that nobody waits for") func anAttemptThatNobodyWaitsFor() async throws {
        let server = try patientServer()
        defer { server.stop() }
        let book = NameBook(["host": ["127.0.0.1"]])
        book.hold("host")
        let house = PoolOnLoop(to: server.port, host: "host", limit: 2, resolver: book.resolver())
        let a = await house.customer("a", keeps: true)
        let b = await house.customer("b", keeps: true)
        #expect(await house.onLoop { $0.connectionCount } == 2)
        await house.onLoop { _ in a.withdraw() }
        #expect(await house.onLoop { $0.connectionCount } == 1)
        await house.onLoop { _ in b.withdraw() }
        #expect(await house.onLoop { $0.connectionCount } == 0)
        book.releaseAll()
        #expect(house.heard.events == ["a is served", "b is served"])
        #expect(server.connectionCount == 0)
        await house.close()
    }

    // CONN-12, CONN-1: each attempt fails for one, and the others get one of their own
    @Test("a server that refuses") func aServerThatRefuses() async throws {
        let refusing = try RefusingPort()
        let house = PoolOnLoop(to: refusing.port, limit: 1)
        for name in ["a", "b", "c"] { _ = await house.customer(name) }
        #expect(
            try await house.heard.waitFor(count: 6) == [
                "a is served", "a failed -1004", "b is served", "b failed -1004", "c is served", "c failed -1004",
            ])
        #expect(await house.onLoop { $0.connectionCount } == 0)
        await house.close()
    }

    // CONN-10: who lost a request on a used connection gets a new one, and the other old ones go
    @Test("a new connection was asked for") func aNewConnectionWasAskedFor() async throws {
        let server = try patientServer()
        defer { server.stop() }
        let house = PoolOnLoop(to: server.port, limit: 2)
        let a = await house.customer("a", keeps: true)
        let b = await house.customer("b", keeps: true)
        try await house.heard.waitFor(count: 4)
        await house.onLoop { _ in
            a.returnUnused()
            b.returnUnused()
        }
        _ = await house.customer("c", acceptsReused: false, keeps: true)
        try await house.heard.wait(for: "c took a new one")
        #expect(await house.onLoop { $0.connectionCount } == 1)
        try await server.connection(0).waitForEnd()
        try await server.connection(1).waitForEnd()
        await house.close()
    }

    // CONN-18
    @Test("after a flush nothing old is used") func afterAFlushNothingOldIsUsed() async throws {
        let server = try patientServer()
        defer { server.stop() }
        let house = PoolOnLoop(to: server.port)
        let idle = await house.customer("idle", keeps: true)
        let used = await house.customer("used", keeps: true)
        try await house.heard.waitFor(count: 4)
        await house.onLoop { pool in
            idle.returnUnused()
            pool.retireAll()
            used.returnUnused()
        }
        #expect(await house.onLoop { $0.connectionCount } == 0)
        _ = await house.customer("later")
        try await house.heard.wait(for: "later took a new one")
        await house.close()
    }

    // CONN-19: what the server closes while it is idle holds nothing any more
    @Test("a pool goes though its idle connections were closed by the server")
    func aPoolGoesThoughItsIdleConnectionsWereClosedByTheServer() async throws {
        let isIdle = Signal("an idle connection")
        let server = try ScriptedServer(steps: [.wait(isIdle), .close])
        defer { server.stop() }
        let pool = WeakPool()
        let loop: EventLoop
        do {
            let house = PoolOnLoop(to: server.port)
            loop = house.loop
            _ = await house.customer("a")
            try await house.heard.wait(for: "a took a new one")
            isIdle.fire()
            try await server.connection(0).waitUntilClosed()
            try await eventually { await house.onLoop { $0.connectionCount } == 0 }
            await house.onLoop { pool.pool = $0 }
        }
        try await eventually { await loop.run { pool.pool == nil } }
    }

    private final class WeakPool: @unchecked Sendable {
        // Sendable because it is used on the pool's loop only.
        weak var pool: ConnectionPool?
    }
}
