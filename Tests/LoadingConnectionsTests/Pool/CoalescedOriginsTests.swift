import LoadingTransport
import TestSupport
import Testing

@testable import LoadingConnections

/// Origins that share a connection which takes one request at a time.
@Suite(.timeLimit(.minutes(1))) struct CoalescedOriginsTests {
    // CONN-1, CONN-3: a long line of one origin keeps no stream from the others
    @Test(
        "origins that share a connection take turns, by priority",
        arguments: [
            (0.5, ["a2", "b1", "a3", "b2", "a4"]), (0.9, ["b1", "b2", "a2", "a3", "a4"]),
            (0.1, ["a2", "a3", "a4", "b1", "b2"]),
        ] as [(Float, [String])])
    func turns(priorityOfB: Float, expected: [String]) async throws {
        let areWaiting = Signal("requests that wait")
        let profile = CertificateProfile.localhost.with { $0.names = ["a.localhost", "b.localhost"] }
        let tls = try TrustedAuthority.server(profile).with { $0.applicationProtocols = ["h2"] }
        let server = try ScriptedServer(tls: tls) { connection in
            let http2 = try HTTP2ServerConnection(connection, settings: [(3, 1)])
            // The client has read the settings when it has a response.
            for _ in 0..<2 { try http2.respond(on: try http2.readRequest(), body: "x") }
            let stream = try http2.readRequest()
            try connection.wait(for: areWaiting)
            try http2.respond(on: stream, body: "x")
            while true { try http2.respond(on: try http2.readRequest(), body: "x") }
        }
        defer { server.stop() }
        var configuration = TLSConfiguration()
        configuration.applicationProtocols = ["h2", "http/1.1"]
        let connectionPool = PoolOnLoop(
            to: server.port, host: "a.localhost", isSecure: true, configuration: configuration)
        _ = await connectionPool.client("a0", sends: "GET")
        try await connectionPool.recorded.wait(for: "a0 is done")
        _ = await connectionPool.client("b0", of: "b.localhost", sends: "GET")
        try await connectionPool.recorded.wait(for: "b0 is done")
        for name in ["a1", "a2", "a3", "a4"] { _ = await connectionPool.client(name, sends: "GET") }
        for name in ["b1", "b2"] {
            _ = await connectionPool.client(name, of: "b.localhost", priority: priorityOfB, sends: "GET")
        }
        areWaiting.fire()
        let events = try await connectionPool.recorded.waitUntil { events in
            ["a4", "b2"].allSatisfy { events.contains("\($0) is done") }
        }
        let done = events.filter { $0.hasSuffix(" is done") }.map { String($0.prefix(2)) }
        #expect(done == ["a0", "b0", "a1"] + expected)
        #expect(server.connectionCount == 1)
        await connectionPool.close()
    }
}
