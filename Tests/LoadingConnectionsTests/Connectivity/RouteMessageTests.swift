import LoadingEvents
import LoadingSemantics
import LoadingTransport
import TestSupport
import Testing

@testable import LoadingConnections

/// The kernel's messages about links and routes while every address stays where it was.
@Suite(.inNetworkNamespace, .needsNetworkNamespace, .timeLimit(.minutes(1))) struct RouteMessageTests {
    private let recorded = EventRecorder<String>()

    /// Changes the network with `ip`, and returns when the pool was notified.
    private func apply(_ connectionPool: PoolOnLoop, _ words: [String]) async throws {
        let name = words.joined(separator: " ")
        // Waiters are notified in order, and the pool waits already.
        let wait = await connectionPool.onLoop { [recorded] pool in
            let mark = RouteWatch.shared.mark(on: pool.loop)
            return LoopBox(RouteWatch.shared.wait(since: mark, on: pool.loop) { recorded.record(name) })
        }
        try NetworkNamespace.ip(words)
        try await recorded.wait(for: name)
        await connectionPool.onLoop { _ in wait.value.end() }
    }

    // CONN-8, CONN-14, S-8
    @Test("a message that changes no address changes nothing") func messageWithoutChange() async throws {
        try NetworkNamespace.raiseLoopback()
        try NetworkNamespace.addWayOut()
        let server = try ScriptedServer(.everywhere, steps: [.waitForClose])
        defer { server.stop() }
        // Not by loopback's address, which nothing takes away.
        let connectionPool = PoolOnLoop(to: server.port, host: "10.0.0.1")
        let busy = await connectionPool.client("busy", keeps: true)
        try await connectionPool.recorded.wait(for: "busy took a new one")
        _ = await connectionPool.client("idle")
        try await connectionPool.recorded.wait(for: "idle took a new one")
        let place = ConnectionKey(isSecure: true, host: "localhost", port: 443)
        let isTried: @Sendable (ConnectionPool) -> Bool = { $0.http3Service(of: place, isAssumed: true) != nil }
        #expect(await connectionPool.onLoop(isTried) == HTTP3Build.isAvailable)
        await connectionPool.onLoop { pool in
            pool.http3Services.failed(AlternativeService(port: 443), of: place.hostPort, at: pool.loop.now)
        }
        for words in [
            ["link", "set", "out", "mtu", "1400"], ["route", "add", "192.0.2.0/24", "via", "10.0.0.2"],
            ["route", "del", "192.0.2.0/24"],
        ] {
            try await apply(connectionPool, words)
            #expect(await connectionPool.onLoop { $0.connectionCount } == 2)
            #expect(!(await connectionPool.onLoop(isTried)), "\(words)")
        }
        _ = await connectionPool.client("next")
        #expect(connectionPool.recorded.events.last == "next took a used one")
        #expect(await connectionPool.onLoop { _ in busy.connection?.isClosed } == false)
        await connectionPool.onLoop { _ in busy.returnUnused() }
        // That it can apply.
        try await apply(connectionPool, ["address", "add", "10.0.0.7/24", "dev", "out"])
        #expect(await connectionPool.onLoop(isTried) == HTTP3Build.isAvailable)
        #expect(await connectionPool.onLoop { $0.connectionCount } == 2)
        #expect(server.connectionCount == 2)
        await connectionPool.close()
    }

    private static let place = ConnectionKey(isSecure: true, host: "a.example", port: 443)
    private static let other = ConnectionKey(isSecure: true, host: "b.example", port: 443)

    /// Says of an origin that it is found over QUIC as well, in this network.
    private func say(_ services: HTTP3Services, _ origin: ConnectionKey) {
        guard let url = try? HTTPURL("https://\(origin.host)/") else { return }
        services.note(HTTPFields([("Alt-Svc", "h3=\":443\"")]), from: url)
    }

    private func isKnown(_ pool: ConnectionPool, _ origin: ConnectionKey) -> Bool {
        pool.http3Service(of: origin, isAssumed: false) != nil
    }

    // CONN-8: without connections there is no wait for changes
    @Test("an address changes while there are no connections", .needsHTTP3) func unwatchedChange() async throws {
        try NetworkNamespace.raiseLoopback()
        try NetworkNamespace.addWayOut()
        let server = try ScriptedServer(.everywhere, steps: [.waitForClose])
        defer { server.stop() }
        let connectionPool = PoolOnLoop(to: server.port, host: "10.0.0.1")
        let isTried: @Sendable (ConnectionPool) -> Bool = {
            $0.http3Service(of: Self.place, isAssumed: true) != nil
        }
        await connectionPool.onLoop { pool in
            pool.http3Services.failed(AlternativeService(port: 443), of: Self.place.hostPort, at: pool.loop.now)
            self.say(pool.http3Services, Self.other)
        }
        #expect(!(await connectionPool.onLoop(isTried)))
        #expect(await connectionPool.onLoop { self.isKnown($0, Self.other) })
        try NetworkNamespace.ip("address", "add", "10.0.0.7/24", "dev", "out")
        // What was in the way may be gone, and what was said was said elsewhere.
        #expect(await connectionPool.onLoop(isTried))
        #expect(!(await connectionPool.onLoop { self.isKnown($0, Self.other) }))
        // An answer now is for this network, whatever is reported later that is no change.
        await connectionPool.onLoop { self.say($0.http3Services, Self.other) }
        let busy = await connectionPool.client("busy", keeps: true)
        try await connectionPool.recorded.wait(for: "busy took a new one")
        try await apply(connectionPool, ["link", "set", "out", "mtu", "1400"])
        #expect(await connectionPool.onLoop { self.isKnown($0, Self.other) })
        await connectionPool.onLoop { _ in busy.returnUnused() }
        await connectionPool.close()
    }

    // CONN-8: what was in the way there may not be here
    @Test("what fails has been begun in another network", .needsHTTP3) func failureOfBefore() async throws {
        try NetworkNamespace.raiseLoopback()
        try NetworkNamespace.addWayOut()
        let connectionPool = PoolOnLoop(to: 443, host: "10.0.0.1")
        let begin: @Sendable (ConnectionPool) -> LoopBox<HTTP3Connector> = { pool in
            LoopBox(HTTP3Connector(to: AlternativeService(port: 443), for: OriginConnections(Self.place), pool: pool))
        }
        let before = await connectionPool.onLoop(begin)
        try NetworkNamespace.ip("address", "add", "10.0.0.7/24", "dev", "out")
        let addresses = try #require(LocalAddresses())
        await connectionPool.onLoop { $0.http3Services.networkChanged(to: addresses) }
        let after = await connectionPool.onLoop(begin)
        let areTried = await connectionPool.onLoop { pool in
            [before, after].map { connector in
                connector.value.note(HTTP3Connector.Failure(error: .timedOut, isRefusal: false))
                return pool.http3Service(of: Self.place, isAssumed: true) != nil
            }
        }
        #expect(areTried == [true, false])
        await connectionPool.close()
    }

    // CONN-8: what one session has noticed another need not notice again
    @Test("an address changes, and one of two sessions has no connections", .needsHTTP3) func sharedChange() throws {
        try NetworkNamespace.raiseLoopback()
        try NetworkNamespace.addWayOut()
        let store = TransientAlternatives()
        let (watching, resting) = (HTTP3Services(store, clock: .monotonic), HTTP3Services(store, clock: .monotonic))
        for (services, origin) in [(watching, Self.place), (resting, Self.other)] { say(services, origin) }
        try NetworkNamespace.ip("address", "add", "10.0.0.7/24", "dev", "out")
        watching.networkChanged(to: try #require(LocalAddresses()))
        let service: (HTTP3Services, ConnectionKey) -> AlternativeService? = {
            $0.service(of: $1.hostPort, isAssumed: false, isWatched: $0 === watching, at: 0)
        }
        #expect(service(watching, Self.place) == nil && service(watching, Self.other) == nil)
        say(watching, Self.place)
        #expect(service(resting, Self.place) == AlternativeService(port: 443))
        #expect(service(watching, Self.place) == AlternativeService(port: 443))
    }
}
