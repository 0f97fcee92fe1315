import LoadingSemantics
import LoadingTestSupport
import LoadingTransport
import TestSupport
import Testing

@testable import LoadingConnections

/// Addresses that accept connections and then send nothing, in the TLS handshake.
@Suite(.timeLimit(.minutes(1))) struct SilentAddressTests {
    private let stepped: SteppedLoop

    init() throws { stepped = try SteppedLoop() }

    private func connectionPool(to port: Int, at addresses: [String]) -> PoolOnLoop {
        PoolOnLoop(
            to: port, host: "localhost", isSecure: true, resolver: HostTable(["localhost": addresses]).resolver(),
            on: stepped.loop)
    }

    // CONN-9, RFC 8305 §9.2
    @Test("another address is tried, and the silent one is the last from then on") func another() async throws {
        let server = try ScriptedServer(tls: TrustedAuthority.server(), steps: [.waitForClose])
        defer { server.stop() }
        let silent = try SilentPort(on: .ipv6, port: server.port)
        defer { withExtendedLifetime(silent) {} }
        let connectionPool = connectionPool(to: server.port, at: ["::1", "127.0.0.1"])
        _ = await connectionPool.client("1", keeps: true)
        try await stepped.waitForTimer(in: stepped.limits.handshakeSilence)
        #expect(server.connectionCount == 0)
        try await stepped.step(by: stepped.limits.handshakeSilence)
        try await connectionPool.recorded.wait(for: "1 took a new one")
        // No time passes.
        _ = await connectionPool.client("2", acceptsReused: false, keeps: true)
        try await connectionPool.recorded.wait(for: "2 took a new one")
        #expect(server.connectionCount == 2)
        await connectionPool.close()
    }

    // CONN-9, RFC 8305 §9.2: the silent address is connected before those of the other family are known
    @Test("an address that is found later is tried too") func late() async throws {
        let server = try ScriptedServer(tls: TrustedAuthority.server(), steps: [.waitForClose])
        defer { server.stop() }
        let silent = try SilentPort(on: .ipv6, port: server.port)
        defer { withExtendedLifetime(silent) {} }
        let hosts = HostTable(["localhost": ["::1", "127.0.0.1"]])
        hosts.hold("localhost", [.ipv4])
        let connectionPool = PoolOnLoop(
            to: server.port, host: "localhost", isSecure: true, resolver: hosts.resolver(), on: stepped.loop)
        _ = await connectionPool.client("1", keeps: true)
        try await stepped.waitForTimer(in: stepped.limits.handshakeSilence)
        hosts.releaseAll()
        try await stepped.step(by: stepped.limits.handshakeSilence)
        try await connectionPool.recorded.wait(for: "1 took a new one")
        #expect(server.connectionCount == 1)
        await connectionPool.close()
    }

    // CONN-9: the next load knows what this one has waited for
    @Test("a request that ends before another address is tried") func withdrawn() async throws {
        let server = try ScriptedServer(tls: TrustedAuthority.server(), steps: [.waitForClose])
        defer { server.stop() }
        let silent = try SilentPort(on: .ipv6, port: server.port)
        defer { withExtendedLifetime(silent) {} }
        let connectionPool = connectionPool(to: server.port, at: ["::1", "127.0.0.1"])
        let first = await connectionPool.client("1")
        try await stepped.waitForTimer(in: stepped.limits.handshakeSilence)
        try await stepped.step(by: stepped.limits.addressSilence)
        await connectionPool.onLoop { _ in first.withdraw() }
        _ = await connectionPool.client("2")
        try await connectionPool.recorded.wait(for: "2 took a new one")
        await connectionPool.close()
    }

    // CONN-3, CONN-9: a second silence leads nowhere else, and a busy server may still answer
    @Test(
        "without another address that answers, the handshake goes on, and others need not wait for it",
        arguments: [["127.0.0.1"], ["127.0.0.1", "::1"]])
    func noOther(addresses: [String]) async throws {
        let silent = try SilentPort()
        defer { withExtendedLifetime(silent) {} }
        let refusing = try RefusingPort(on: .ipv6, port: silent.port)
        defer { withExtendedLifetime(refusing) {} }
        let connectionPool = connectionPool(to: silent.port, at: addresses)
        for index in 1...2 { _ = await connectionPool.client("\(index)") }
        for _ in addresses {
            #expect(await connectionPool.onLoop { $0.origins.values.first?.attemptCount } == 1)
            try await stepped.waitForTimer(in: stepped.limits.handshakeSilence)
            try await stepped.step(by: stepped.limits.handshakeSilence)
        }
        #expect(await connectionPool.onLoop { $0.origins.values.first?.attemptCount } == 2)
        await connectionPool.close()
    }

    // CONN-3: the proxy has answered, and the server has not
    @Test("a silent server behind a proxy keeps no others waiting") func tunnel() async throws {
        let proxy = try ScriptedServer { connection in
            _ = try connection.readRequestHead()
            try connection.send("HTTP/1.1 200 OK\r\n\r\n")
            try connection.waitForClose()
        }
        defer { proxy.stop() }
        let proxyServer = try #require(ProxyServer(kind: .http, host: "127.0.0.1", port: proxy.port))
        let connectionPool = PoolOnLoop(
            to: 443, host: "a.example", isSecure: true, proxyMode: .tunnel(proxyServer), on: stepped.loop)
        for index in 1...2 { _ = await connectionPool.client("\(index)") }
        try await stepped.waitForTimer(in: stepped.limits.handshakeSilence)
        #expect(await connectionPool.onLoop { $0.origins.values.first?.attemptCount } == 1)
        try await stepped.step(by: stepped.limits.handshakeSilence)
        #expect(await connectionPool.onLoop { $0.origins.values.first?.attemptCount } == 2)
        await connectionPool.close()
    }
}
