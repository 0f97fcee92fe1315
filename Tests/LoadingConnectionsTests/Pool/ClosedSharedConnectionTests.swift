import Glibc
import LoadingSemantics
import LoadingTransport
import TestSupport
import Testing

@testable import LoadingConnections

/// Connections of HTTP/2 that the server closes while a request is about to go out.
@Suite(.timeLimit(.minutes(1))) struct ClosedSharedConnectionTests {
    private func connectionPool(_ server: ScriptedServer) -> PoolOnLoop {
        var configuration = TLSConfiguration()
        configuration.applicationProtocols = ["h2", "http/1.1"]
        return PoolOnLoop(to: server.port, host: "localhost", isSecure: true, configuration: configuration)
    }

    /// A server that answers one request, and then waits for the signal to leave.
    private func server(
        _ leaves: Signal, _ leave: @escaping @Sendable (HTTP2ServerConnection) throws -> Void
    ) throws -> ScriptedServer {
        let tls = try TrustedAuthority.server().with { $0.applicationProtocols = ["h2"] }
        return try ScriptedServer(tls: tls) { connection in
            let http2 = try HTTP2ServerConnection(connection)
            try http2.respond(on: try http2.readRequest(), body: "x")
            try connection.wait(for: leaves)
            try leave(http2)
        }
    }

    // CONN-4: the request may go out again, whatever its method
    @Test("a GOAWAY is read though the write fails") func goAwayBeforeReset() async throws {
        let leaves = Signal("the end of the connection")
        let server = try server(leaves) { http2 in
            try http2.goAway(lastStream: 1)
            http2.connection.reset()
        }
        defer { server.stop() }
        let connectionPool = connectionPool(server)
        _ = await connectionPool.client("a", sends: "GET")
        try await connectionPool.recorded.wait(for: "a is done")
        let client = await connectionPool.client("b", keeps: true)
        // In one job, so that the loop reads nothing of the server before it writes the request.
        let events = await connectionPool.onLoop { [origin = connectionPool.origin] pool -> Int16 in
            guard let connection = pool.origins[origin]?.shared as? HTTP2Connection else { return 0 }
            client.send("POST")
            leaves.fire()
            var polled = pollfd(fd: connection.stream.descriptor, events: 0, revents: 0)
            return poll(&polled, 1, 5_000) == 1 ? polled.revents : 0
        }
        #expect(events & Int16(POLLHUP) != 0)
        try await connectionPool.recorded.wait(for: "b lost -1005")
        #expect(await connectionPool.onLoop { _ in client.failure?.progress } == .refused)
        await connectionPool.close()
    }

    // CONN-10: the server has answered others, so the loss is none of this request's tries
    @Test("a connection that is lost before the request begins") func lostBefore() async throws {
        let leaves = Signal("the end of the connection")
        let server = try server(leaves) { $0.connection.close() }
        defer { server.stop() }
        let connectionPool = connectionPool(server)
        _ = await connectionPool.client("a", sends: "GET")
        try await connectionPool.recorded.wait(for: "a is done")
        let client = await connectionPool.client("b", keeps: true)
        leaves.fire()
        try await eventually { await connectionPool.onLoop { $0.connectionCount } == 0 }
        await connectionPool.onLoop { _ in client.send("GET") }
        try await connectionPool.recorded.wait(for: "b lost -1005")
        let failure = try #require(await connectionPool.onLoop { _ in client.failure.map(FailureFacts.init) })
        #expect(failure.progress == .unsent)
        #expect(!failure.wasAlone)
        #expect(failure.lastAnswer > 0)
        await connectionPool.close()
    }

    private struct FailureFacts: Sendable {
        let progress: LostExchange.Progress
        let wasAlone: Bool
        let lastAnswer: Int64

        init(_ failure: ExchangeFailure) {
            (progress, wasAlone, lastAnswer) = (failure.progress, failure.wasAlone, failure.lastAnswer)
        }
    }
}
