import LoadingTransport
import TestSupport
import Testing

@testable import LoadingConnections

/// What becomes of connections that all can share, and that nobody uses.
@Suite(.timeLimit(.minutes(1))) struct IdleSharedConnectionTests {
    /// Has two customers come one after the other, the second when the connection of the first is closed, or at once.
    private func visits(
        _ house: PoolOnLoop, assumesHTTP3: Bool, isShort: Bool
    ) async throws -> [String] {
        #expect(await house.onLoop { $0.sharedIdleLifetime } == 90_000_000_000)
        if isShort { await house.onLoop { $0.sharedIdleLifetime = 50_000_000 } }
        for name in ["a", "b"] {
            _ = await house.customer(name, assumesHTTP3: assumesHTTP3, sends: "GET")
            try await house.heard.wait(for: "\(name) is done")
            if isShort { try await eventually { await house.onLoop { $0.connectionCount } == 0 } }
        }
        return house.heard.events.filter { $0.contains("took") }
    }

    private static func expected(_ isShort: Bool) -> [String] {
        ["a took a new one", isShort ? "b took a new one" : "b took a used one"]
    }

    // CONN-19
    @Test("a connection of HTTP/2 is closed when its time is over", arguments: [false, true])
    func http2(isShort: Bool) async throws {
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
        let house = PoolOnLoop(to: server.port, host: "localhost", isSecure: true, configuration: configuration)
        #expect(try await visits(house, assumesHTTP3: false, isShort: isShort) == Self.expected(isShort))
        #expect(server.connectionCount == (isShort ? 2 : 1))
        await house.close()
    }

    #if HTTP3
        // CONN-19
        @Test("a connection of HTTP/3 is closed when its time is over", .needs(.gtlsserver), arguments: [false, true])
        func http3(isShort: Bool) async throws {
            let server = try GtlsServer(authority: TrustedAuthority.authority)
            defer { server.stop() }
            let house = PoolOnLoop(to: server.port, isSecure: true)
            #expect(try await visits(house, assumesHTTP3: true, isShort: isShort) == Self.expected(isShort))
            await house.close()
        }
    #endif
}
