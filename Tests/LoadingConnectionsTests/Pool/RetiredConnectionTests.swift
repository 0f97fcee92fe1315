import LoadingTransport
import TestSupport
import Testing

@testable import LoadingConnections

/// HTTP/2 connections that take no more requests and still carry some.
@Suite(.timeLimit(.minutes(1))) struct RetiredConnectionTests {
    // C-24, CONN-1, CONN-4
    @Test("a server that takes one request on each connection, and responds slowly", arguments: [1, 3])
    func slow(limit: Int) async throws {
        let most = max(limit, 2)
        let mayRespond = Signal("the responses")
        let tls = try TrustedAuthority.server().with { $0.applicationProtocols = ["h2"] }
        let server = try ScriptedServer(tls: tls) { connection in
            let http2 = try HTTP2ServerConnection(connection)
            let stream = try http2.readRequest()
            try http2.goAway(lastStream: stream)
            try connection.wait(for: mayRespond)
            try http2.respond(on: stream, body: "x")
            try connection.waitForClose()
        }
        defer { server.stop() }
        var configuration = TLSConfiguration()
        configuration.applicationProtocols = ["h2", "http/1.1"]
        let connectionPool = PoolOnLoop(
            to: server.port, host: "localhost", isSecure: true, limit: limit, configuration: configuration)
        @Sendable func isRetired(_ count: Int) async -> Bool {
            await connectionPool.onLoop { pool in
                guard let origin = pool.origins.values.first else { return false }
                return origin.multiplexedCount == count && origin.shared == nil
            }
        }
        for index in 0...most {
            _ = await connectionPool.client("\(index)", sends: "GET")
            try await eventually { await isRetired(min(index + 1, most)) }
        }
        // An attempt would have begun with the GOAWAY.
        #expect(await connectionPool.onLoop { $0.origins.values.first?.attemptCount } == 0)
        mayRespond.fire()
        for index in 0...most { try await connectionPool.recorded.wait(for: "\(index) is done") }
        #expect(server.connectionCount == most + 1)
        await connectionPool.close()
    }

    // C-24, CONN-4: it does not carry requests any more, though what the server has not read keeps it open
    @Test("a retired connection that has answered an upload without reading it") func unread() async throws {
        let mayRespond = Signal("the response to the upload")
        let mayEnd = Signal("the end of the test")
        let tls = try TrustedAuthority.server().with { $0.applicationProtocols = ["h2"] }
        let server = try ScriptedServer(tls: tls) { connection in
            // Room for all of the upload.
            let http2 = try HTTP2ServerConnection(connection, settings: [(4, 0x7FFF_FFFF)])
            try http2.send(HTTP2ServerConnection.FrameType.windowUpdate, stream: 0, [0x40, 0, 0, 0])
            let stream = try http2.readRequest()
            switch connection.index {
            case 0:
                try http2.goAway(lastStream: stream)
                try connection.wait(for: mayRespond)
                try http2.sendHead(on: stream, status: 413, ends: true)
                try http2.reset(stream, 0)
            case 1: try http2.goAway(lastStream: stream)
            default: try http2.respond(on: stream, body: "x")
            }
            try connection.wait(for: mayEnd)
        }
        defer { server.stop() }
        var configuration = TLSConfiguration()
        configuration.applicationProtocols = ["h2", "http/1.1"]
        let connectionPool = PoolOnLoop(
            to: server.port, host: "localhost", isSecure: true, limit: 1, configuration: configuration)
        func waitUntilRetired(_ count: Int) async throws {
            try await eventually {
                await connectionPool.onLoop { pool in
                    guard let origin = pool.origins.values.first else { return false }
                    return origin.multiplexedCount == count && origin.shared == nil
                }
            }
        }
        let upload = await connectionPool.client("upload", sends: "PUT", body: 64 << 20)
        try await waitUntilRetired(1)
        _ = await connectionPool.client("slow", sends: "GET")
        try await waitUntilRetired(2)
        try await eventually { await connectionPool.onLoop { _ in upload.looksStalled() } }
        _ = await connectionPool.client("last", sends: "GET")
        #expect(server.connectionCount == 2)
        mayRespond.fire()
        try await connectionPool.recorded.wait(for: "last is done")
        // The first one is still open.
        #expect(await connectionPool.onLoop { $0.origins.values.first?.multiplexedCount } == 3)
        mayEnd.fire()
        await connectionPool.close()
    }
}
