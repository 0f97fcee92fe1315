import Glibc
import LoadingSemantics
import LoadingTestSupport
import LoadingTransport
import TestSupport
import Testing

@testable import LoadingConnections

/// HTTP/2 peers that disappear without closing the connection.
@Suite(.timeLimit(.minutes(1))) struct HTTP2PingTests {
    private let stepped: SteppedLoop

    init() throws { stepped = try SteppedLoop() }

    private var limits: TimeLimits { stepped.limits }

    private func connectionPool(_ server: ScriptedServer) -> PoolOnLoop {
        var configuration = TLSConfiguration()
        configuration.applicationProtocols = ["h2", "http/1.1"]
        return PoolOnLoop(
            to: server.port, host: "localhost", isSecure: true, configuration: configuration, on: stepped.loop)
    }

    /// Waits until the connection has read something at the current time.
    private func waitUntilRead(_ connectionPool: PoolOnLoop) async throws {
        try await eventually { [stepped] in
            await connectionPool.onLoop { pool in
                pool.allConnections.contains { ($0 as? HTTP2Connection)?.lastHeard == stepped.now }
            }
        }
    }

    private func server(_ script: @escaping @Sendable (HTTP2ServerConnection) throws -> Void) throws -> ScriptedServer {
        let tls = try TrustedAuthority.server().with { $0.applicationProtocols = ["h2"] }
        return try ScriptedServer(tls: tls) { connection in
            let http2 = try HTTP2ServerConnection(connection)
            let first = try http2.readRequest()
            try http2.respond(on: first, body: "x")
            do { try script(http2) } catch  where connection.record.end != nil { return }
        }
    }

    // S-7, CONN-10: a request on a dead connection does not wait for its own timeout
    @Test("a connection whose server answers no PING is closed") func silent() async throws {
        let types = Watched<[UInt8]>([])
        let server = try server { http2 in
            // Everything is read, and nothing is said.
            while true {
                let type = try http2.readFrame().type
                types.withValue { $0.append(type) }
            }
        }
        defer { server.stop() }
        let connectionPool = connectionPool(server)
        _ = await connectionPool.client("a", sends: "GET")
        try await connectionPool.recorded.wait(for: "a is done")
        try await stepped.step(by: limits.http2PingSilence + 1)
        _ = await connectionPool.client("b", sends: "GET")
        try await types.wait(for: "the request and the question") {
            $0.contains(HTTP2ServerConnection.FrameType.ping) && $0.contains(1) ? () : nil
        }
        try await stepped.step(by: limits.http2PingTimeout - 1)
        #expect(!connectionPool.recorded.events.contains("b lost -1005"))
        // The peer's system has taken both in the meantime, which counts as activity once more.
        try await stepped.step(by: limits.http2PingTimeout + 1)
        #expect(connectionPool.recorded.events.last == "b lost -1005")
        let asked = types.current.filter { [HTTP2ServerConnection.FrameType.ping, 1].contains($0) }
        #expect(Set(asked) == [HTTP2ServerConnection.FrameType.ping, HTTP2ServerConnection.FrameType.headers])
        #expect(await connectionPool.onLoop { $0.connectionCount } == 0)
        let origin = connectionPool.origin
        let isLimited = await connectionPool.onLoop { $0.requestLimits[origin] != nil }
        #expect(!isLimited)
        await connectionPool.close()
    }

    // S-42: what is done away with is not there for as long as the connection
    @Test("a connection whose server reads nothing is closed when an upload is cancelled", arguments: [true, false])
    func stalled(isSilent: Bool) async throws {
        let mayEnd = Signal("the end of the test")
        let server = try server { http2 in
            // Room for all of it, but no reader.
            try http2.send(HTTP2ServerConnection.FrameType.settings, stream: 0, [0, 4, 0x7F, 0xFF, 0xFF, 0xFF])
            try http2.send(HTTP2ServerConnection.FrameType.windowUpdate, stream: 0, [0x40, 0, 0, 0])
            guard isSilent else {
                // A peer that sends is not gone.
                while !mayEnd.isFired {
                    try http2.send(HTTP2ServerConnection.FrameType.ping, stream: 0, [UInt8](repeating: 0, count: 8))
                    usleep(20_000)
                }
                return
            }
            try http2.connection.wait(for: mayEnd)
        }
        defer { server.stop() }
        let connectionPool = connectionPool(server)
        _ = await connectionPool.client("a", sends: "GET")
        try await connectionPool.recorded.wait(for: "a is done")
        let upload = await connectionPool.client("b", sends: "PUT", body: 64 << 20)
        try await eventually { await connectionPool.onLoop { _ in upload.looksStalled() } }
        await connectionPool.onLoop { _ in upload.cancel() }
        try await stepped.step(by: limits.http2PingTimeout - 1)
        #expect(await connectionPool.onLoop { $0.connectionCount } == 1)
        if !isSilent { try await waitUntilRead(connectionPool) }
        try await stepped.step(by: 1)
        #expect(await connectionPool.onLoop { $0.connectionCount } == (isSilent ? 0 : 1))
        mayEnd.fire()
        await connectionPool.close()
    }

    // S-42: a request that was cancelled before it was sent is not reset at the server
    @Test("a request that is cancelled behind an upload is not held against the server") func cancelledBehind()
        async throws
    {
        let mayEnd = Signal("the end of the test")
        let server = try server { http2 in
            try http2.send(HTTP2ServerConnection.FrameType.settings, stream: 0, [0, 4, 0x7F, 0xFF, 0xFF, 0xFF])
            try http2.send(HTTP2ServerConnection.FrameType.windowUpdate, stream: 0, [0x40, 0, 0, 0])
            try http2.connection.wait(for: mayEnd)
        }
        defer { server.stop() }
        let connectionPool = connectionPool(server)
        _ = await connectionPool.client("a", sends: "GET")
        try await connectionPool.recorded.wait(for: "a is done")
        let upload = await connectionPool.client("b", sends: "PUT", body: 64 << 20)
        try await eventually { await connectionPool.onLoop { _ in upload.looksStalled() } }
        let other = await connectionPool.client("c", sends: "GET")
        await connectionPool.onLoop { _ in other.cancel() }
        // Several times as long as a peer has for an answer.
        try await stepped.step(by: 5 * limits.http2PingTimeout)
        #expect(await connectionPool.onLoop { $0.connectionCount } == 1)
        mayEnd.fire()
        await connectionPool.close()
    }

    // CONN-4: a server with a limit closes the connection
    @Test("a loss through the network is not held against the server", arguments: [true, false])
    func losses(isByServer: Bool) async throws {
        let hasAsked = Signal("the second request")
        let mayClose = Signal("the end of the connection")
        let server = try server { http2 in
            _ = try http2.readRequest()
            hasAsked.fire()
            try http2.connection.wait(for: mayClose)
        }
        defer { server.stop() }
        let connectionPool = connectionPool(server)
        _ = await connectionPool.client("a", sends: "GET")
        try await connectionPool.recorded.wait(for: "a is done")
        _ = await connectionPool.client("b", sends: "GET")
        try await hasAsked.wait()
        if isByServer {
            mayClose.fire()
        } else {
            await connectionPool.onLoop { pool in
                for connection in pool.allConnections { connection.localAddressWasLost() }
            }
        }
        try await connectionPool.recorded.wait(for: "b lost -1005")
        let isLimited = await connectionPool.onLoop { [origin = connectionPool.origin] in
            $0.requestLimits[origin] != nil
        }
        #expect(isLimited == isByServer)
        mayClose.fire()
        await connectionPool.close()
    }

    // CONN-4: on another network there may be another server, or none of what ended connections on this one
    @Test("request limits are forgotten when the local address is lost") func limitsOfAnotherNetwork() async throws {
        let server = try server { _ = try $0.connection.waitForClose() }
        defer { server.stop() }
        let connectionPool = connectionPool(server)
        _ = await connectionPool.client("a", sends: "GET")
        try await connectionPool.recorded.wait(for: "a is done")
        let isForgotten = await connectionPool.onLoop { [origin = connectionPool.origin] pool in
            pool.requestLimits[origin] = .announced(5)
            for connection in pool.allConnections { connection.localAddressWasLost() }
            return pool.requestLimits[origin] == nil
        }
        #expect(isForgotten)
        await connectionPool.close()
    }

    // CONN-4: the question whether a limit still holds is ahead of a body that is being sent
    @Test("an upload does not delay requests that wait at a request limit") func limitBehindUpload() async throws {
        let mayRead = Signal("the end of the stall")
        let mayEnd = Signal("the end of the test")
        let received = Watched<[String]>([])
        let tls = try TrustedAuthority.server().with { $0.applicationProtocols = ["h2"] }
        let server = try ScriptedServer(tls: tls) { connection in
            do {
                // Room for all of the upload, from the first request on.
                let http2 = try HTTP2ServerConnection(connection, settings: [(4, 0x7FFF_FFFF)])
                try http2.send(HTTP2ServerConnection.FrameType.windowUpdate, stream: 0, [0x40, 0, 0, 0])
                try http2.respond(on: try http2.readRequest(), body: "x")
                try connection.wait(for: mayRead)
                while true {
                    let frame = try http2.readFrame()
                    // END_STREAM, or ACK of a PING.
                    let hasEnd = frame.flags & 1 == 1
                    switch frame.type {
                    case HTTP2ServerConnection.FrameType.ping where !hasEnd:
                        received.withValue { $0.append("question") }
                        try http2.send(frame.type, flags: 1, stream: 0, frame.payload)
                    case HTTP2ServerConnection.FrameType.data where hasEnd:
                        received.withValue { $0.append("upload") }
                    case HTTP2ServerConnection.FrameType.headers where hasEnd:
                        try http2.respond(on: frame.stream, body: "y")
                        return try connection.wait(for: mayEnd)
                    default: break
                    }
                }
            } catch  where connection.record.end != nil {
                return
            }
        }
        defer { server.stop() }
        let connectionPool = connectionPool(server)
        await connectionPool.onLoop { [origin = connectionPool.origin] in $0.requestLimits[origin] = .announced(2) }
        _ = await connectionPool.client("a", sends: "GET")
        try await connectionPool.recorded.wait(for: "a is done")
        let upload = await connectionPool.client("b", sends: "PUT", body: 64 << 20)
        try await eventually { await connectionPool.onLoop { _ in upload.looksStalled() } }
        _ = await connectionPool.client("c", sends: "GET")
        #expect(!connectionPool.recorded.events.contains { $0.hasPrefix("c took") })
        mayRead.fire()
        try await connectionPool.recorded.wait(for: "c is done")
        #expect(received.current.first == "question")
        #expect(connectionPool.recorded.events.contains("c took a used one"))
        #expect(server.connectionCount == 1)
        mayEnd.fire()
        await connectionPool.close()
    }

    // CONN-4: the path may be gone, and requests that wait for the connection would not find that out
    @Test("a connection at its request limit that answers no PING gets no more requests") func unansweredLimit()
        async throws
    {
        let types = Watched<[UInt8]>([])
        let server = try server { http2 in
            // Everything behind the first request is read, and nothing is said.
            while true {
                let type = try http2.readFrame().type
                if http2.connection.index == 0 { types.withValue { $0.append(type) } }
            }
        }
        defer { server.stop() }
        let connectionPool = connectionPool(server)
        await connectionPool.onLoop { [origin = connectionPool.origin] in $0.requestLimits[origin] = .announced(2) }
        _ = await connectionPool.client("a", sends: "GET")
        try await connectionPool.recorded.wait(for: "a is done")
        _ = await connectionPool.client("b", sends: "GET")
        try await types.wait(for: "the question") { $0.contains(HTTP2ServerConnection.FrameType.ping) ? () : nil }
        _ = await connectionPool.client("c", sends: "GET")
        try await stepped.step(by: limits.http2PingTimeout - 1)
        #expect(!connectionPool.recorded.events.contains { $0.hasPrefix("c took") })
        try await stepped.step(by: 1)
        try await connectionPool.recorded.wait(for: "c is done")
        #expect(connectionPool.recorded.events.contains("c took a new one"))
        #expect(!connectionPool.recorded.events.contains { $0.hasPrefix("b lost") })
        #expect(server.connectionCount == 2)
        await connectionPool.close()
    }

    // S-7: a server that takes its time is not one that is gone
    @Test("a slow response is awaited while the server answers PINGs") func slow() async throws {
        let mayAnswer = Signal("the answer")
        let server = try server { http2 in
            var stream: Int64?
            var pings = 0
            // The answer comes some time after the timeout of a ping would have ended.
            while pings == 0 || stream == nil {
                let frame = try http2.readFrame()
                if frame.type == HTTP2ServerConnection.FrameType.headers { stream = frame.stream }
                if frame.type == HTTP2ServerConnection.FrameType.ping, frame.flags & 1 == 0 {
                    pings += 1
                    try http2.send(frame.type, flags: 1, stream: 0, frame.payload)
                }
            }
            try http2.connection.wait(for: mayAnswer)
            try http2.respond(on: stream ?? 0, body: "y")
            _ = try http2.connection.waitForClose()
        }
        defer { server.stop() }
        let connectionPool = connectionPool(server)
        _ = await connectionPool.client("a", sends: "GET")
        try await connectionPool.recorded.wait(for: "a is done")
        try await stepped.step(by: limits.http2PingSilence + 1)
        _ = await connectionPool.client("b", sends: "GET")
        try await waitUntilRead(connectionPool)
        try await stepped.step(by: 3 * limits.http2PingTimeout)
        #expect(await connectionPool.onLoop { $0.connectionCount } == 1)
        mayAnswer.fire()
        try await connectionPool.recorded.wait(for: "b is done")
        #expect(await connectionPool.onLoop { $0.connectionCount } == 1)
        await connectionPool.close()
    }
}
