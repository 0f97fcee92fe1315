import LoadingSemantics
import LoadingTestSupport
import LoadingTransport
import TestSupport
import Testing

@testable import LoadingConnections

/// Idle multiplexed connections.
@Suite(.timeLimit(.minutes(1))) struct IdleSharedConnectionTests {
    /// Has three clients come one after the other: the second a moment before the connection's time is over, and the
    /// third when it is.
    private func visits(_ connectionPool: PoolOnLoop, _ stepped: SteppedLoop) async throws -> [String] {
        let idle = stepped.limits.multiplexedIdle
        for (name, pause) in [("a", idle - 1), ("b", idle), ("c", 0)] {
            _ = await connectionPool.client(name, sends: "GET")
            try await connectionPool.recorded.wait(for: "\(name) is done")
            try await stepped.step(by: pause)
            if name == "b" { try await eventually { await connectionPool.onLoop { $0.connectionCount } == 0 } }
        }
        return connectionPool.recorded.events.filter { $0.contains("took") }
    }

    private static let expected = ["a took a new one", "b took a used one", "c took a new one"]

    // CONN-19
    @Test("a connection of HTTP/2 is closed when its time is over") func http2() async throws {
        let tls = try TrustedAuthority.server().with { $0.applicationProtocols = ["h2"] }
        let server = try ScriptedServer(tls: tls) { connection in
            let http2 = try HTTP2ServerConnection(connection)
            do {
                while true { try http2.respond(on: try http2.readRequest(), body: "x") }
            } catch  where connection.record.end != nil {
                return
            }
        }
        defer { server.stop() }
        var configuration = TLSConfiguration()
        configuration.applicationProtocols = ["h2", "http/1.1"]
        let stepped = try SteppedLoop()
        #expect(stepped.limits.multiplexedIdle == TimeLimits.seconds(90))
        let connectionPool = PoolOnLoop(
            to: server.port, host: "localhost", isSecure: true, configuration: configuration, on: stepped.loop)
        #expect(try await visits(connectionPool, stepped) == Self.expected)
        #expect(server.connectionCount == 2)
        await connectionPool.close()
    }

    // CONN-19
    @Test("a connection of HTTP/3 is closed when its time is over", .needsHTTP3, .needs(.gtlsserver)) func http3()
        async throws
    {
        let server = try GtlsServer(authority: TrustedAuthority.authority)
        defer { server.stop() }
        // On the system's clock: QUIC counts the time until its packets are acknowledged by the same loop, and the
        // server takes real time for that.
        var limits = TimeLimits()
        limits.multiplexedIdle = TimeLimits.seconds(3)
        let loop = EventLoop(limits: limits)
        try #require(loop.serve())
        defer { loop.stop() }
        let connectionPool = PoolOnLoop(to: server.port, isSecure: true, on: loop)
        for name in ["a", "b", "c"] {
            _ = await connectionPool.client(name, assumesHTTP3: true, sends: "GET")
            try await connectionPool.recorded.wait(for: "\(name) is done")
            if name == "b" { try await eventually { await connectionPool.onLoop { $0.connectionCount } == 0 } }
        }
        #expect(connectionPool.recorded.events.filter { $0.contains("took") } == Self.expected)
        await connectionPool.close()
    }
}
