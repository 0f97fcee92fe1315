import FoundationEssentials
import LoadingSemantics
import LoadingTransport
import TestSupport
import Testing

@testable import LoadingConnections

private typealias FrameType = HTTP2ServerConnection.FrameType

/// Extended CONNECT on connections that are there: RFC 8441 over HTTP/2, RFC 9220 over HTTP/3.
@Suite(.timeLimit(.minutes(1))) struct ExtendedConnectTests {
    // MARK: HTTP/2

    private func connectionPool(_ server: ScriptedServer) async throws -> PoolOnLoop {
        var configuration = TLSConfiguration()
        configuration.applicationProtocols = ["h2", "http/1.1"]
        let connectionPool = PoolOnLoop(
            to: server.port, host: "localhost", isSecure: true, configuration: configuration)
        _ = await connectionPool.client("a", sends: "GET")
        try await connectionPool.recorded.wait(for: "a is done")
        return connectionPool
    }

    /// A server that answers one request, and runs the script with the stream of the next.
    private func server(
        _ settings: [(UInt16, UInt32)] = [(8, 1)],
        _ script: @escaping @Sendable (HTTP2ServerConnection, Int64) throws -> Void
    ) throws -> ScriptedServer {
        let tls = try TrustedAuthority.server().with { $0.applicationProtocols = ["h2"] }
        return try ScriptedServer(tls: tls) { connection in
            let http2 = try HTTP2ServerConnection(connection, settings: settings)
            try http2.respond(on: try http2.readRequest(), body: "x")
            do {
                try script(http2, try http2.readRequest())
                _ = try http2.connection.waitForClose()
            } catch  where connection.record.end != nil {}
        }
    }

    private func open(
        of connectionPool: PoolOnLoop, pauses: Bool = false, sending text: String? = nil
    ) async throws -> TunnelClient {
        try #require(
            await connectionPool.onLoop { _ in TunnelClient.open(of: connectionPool, pauses: pauses, sending: text) })
    }

    private func isIdle(_ connectionPool: PoolOnLoop) async -> Bool {
        await connectionPool.onLoop { pool in
            pool.allConnections.allSatisfy { ($0 as? any MultiplexedConnection)?.isIdle == true }
        }
    }

    // WS-2: RFC 8441 §5
    @Test("each direction of a tunnel ends on its own") func bothWays() async throws {
        let types = Watched<[UInt8]>([])
        let sent = Watched<[String]>([])
        let server = try server { http2, stream in
            func readData() throws -> String {
                let frame = try http2.readFrame(FrameType.data)
                return String(decoding: frame.payload, as: UTF8.self) + (frame.flags & 1 != 0 ? " end" : "")
            }
            try http2.send(FrameType.ping, stream: 0, [UInt8](repeating: 1, count: 8))
            var type = try http2.readFrame().type
            while type != FrameType.ping {
                types.withValue { $0.append(type) }
                type = try http2.readFrame().type
            }
            try http2.sendHead(on: stream, fields: [("content-length", "2")])
            let first = try readData()
            try http2.sendBody(Array("hi".utf8), on: stream, ends: false)
            let second = try readData()
            try http2.sendBody(Array("bye".utf8), on: stream, ends: true)
            let third = try readData()
            let last = try readData()
            sent.withValue { $0 += [first, second, third, last] }
        }
        defer { server.stop() }
        let connectionPool = try await connectionPool(server)
        let user = try await open(of: connectionPool, sending: "hello")
        try await user.recorded.wait(for: "has hi")
        // What is sent before the server has agreed would be read as something else.
        #expect(!types.current.contains(FrameType.data))
        await user.onLoop { $0.send(Data("again".utf8)) }
        try await user.recorded.wait(for: "the server has ended")
        #expect(await !isIdle(connectionPool))
        await user.onLoop { $0.send(Data("last".utf8)) }
        try await user.recorded.wait(for: "sent 14")
        await user.onLoop { $0.endSending() }
        try await user.recorded.wait(for: "ended")
        #expect(
            user.recorded.events == [
                "head 200", "sent 5", "has hi", "sent 10", "has hibye", "the server has ended", "sent 14",
                "sent the end", "ended",
            ])
        try await sent.wait(for: "all that was sent") {
            $0 == ["hello", "again", "last", " end"] ? () : nil
        }
        #expect(await isIdle(connectionPool))
        await connectionPool.close()
    }

    // WS-2: back-pressure in both directions
    @Test("a reader that pauses closes its window, and a writer waits for the server's") func flow() async throws {
        let mayRead = Signal("a server that reads")
        let hasStopped = Signal("all that the window allows")
        let updates = Watched<[Int64]>([])
        let server = try server([(8, 1), (4, 10)]) { http2, stream in
            try http2.sendHead(on: stream)
            for _ in 0..<64 { try http2.sendBody([UInt8](repeating: 1, count: 16_384), on: stream, ends: false) }
            try http2.send(FrameType.ping, stream: 0, [UInt8](repeating: 1, count: 8))
            var sent: [UInt8] = []
            while true {
                let frame = try http2.readFrame()
                if frame.type == FrameType.data { sent += frame.payload }
                if frame.type == FrameType.windowUpdate { updates.withValue { $0.append(frame.stream) } }
                if frame.type == FrameType.ping { break }
            }
            while sent.count < 10 { sent += try http2.readFrame(FrameType.data).payload }
            #expect(!updates.current.contains(stream))
            hasStopped.fire()
            try http2.connection.wait(for: mayRead)
            try http2.send(FrameType.windowUpdate, stream: stream, [0, 0, 1, 0])
            var isOpen = false
            while sent.count < 25 || !isOpen {
                let frame = try http2.readFrame()
                if frame.type == FrameType.data { sent += frame.payload }
                if frame.type == FrameType.windowUpdate, frame.stream == stream { isOpen = true }
            }
            #expect(String(decoding: sent, as: UTF8.self) == "abcdefghijklmnopqrstuvwxy")
            try http2.sendBody(Array("!".utf8), on: stream, ends: true)
        }
        defer { server.stop() }
        let connectionPool = try await connectionPool(server)
        let user = try await open(of: connectionPool, pauses: true, sending: "abcdefghijklmnopqrstuvwxy")
        try await hasStopped.wait()
        try await user.recorded.wait(for: "has 1048576 bytes")
        #expect(await user.onLoop { [$0.questionCount, $0.sentCount] } == [1, 10])
        mayRead.fire()
        await user.onLoop { $0.setPaused(false) }
        try await user.recorded.wait(for: "the server has ended")
        // It is asked for more when there is room for it.
        #expect(await user.onLoop { [$0.questionCount, $0.sentCount] } == [2, 25])
        await user.onLoop { $0.cancelExchange() }
        #expect(await user.onLoop(\.isCancelled))
        try await eventually { await isIdle(connectionPool) }
        await connectionPool.close()
    }

    // WS-2: RFC 8441 §5 has RST_STREAM stand for TCP's reset
    @Test("a reset of either side ends both directions", arguments: [true, false]) func reset(byServer: Bool)
        async throws
    {
        let code = Watched<[UInt8]>([])
        let server = try server { http2, stream in
            try http2.sendHead(on: stream)
            if byServer { return try http2.reset(stream, 8) }
            let frame = try http2.readFrame(FrameType.reset)
            code.withValue { $0 = frame.payload }
        }
        defer { server.stop() }
        let connectionPool = try await connectionPool(server)
        let user = try await open(of: connectionPool)
        if byServer {
            try await user.recorded.wait(for: "lost -1005")
            #expect(await user.onLoop { $0.failure?.progress } == .answered)
        } else {
            try await user.recorded.wait(for: "head 200")
            await user.onLoop { $0.cancelExchange() }
            try await code.wait(for: "CANCEL") { $0 == [0, 0, 0, 8] ? () : nil }
        }
        #expect(await user.onLoop(\.isCancelled))
        try await eventually { await isIdle(connectionPool) }
        await connectionPool.close()
    }

    // WS-2: any other response is one as usual
    @Test("a server that declines the tunnel is sent nothing") func declined() async throws {
        let server = try server { http2, stream in try http2.respond(on: stream, status: 403, body: "no") }
        defer { server.stop() }
        let connectionPool = try await connectionPool(server)
        let user = try await open(of: connectionPool, sending: "hello")
        try await user.recorded.wait(for: "ended")
        #expect(user.recorded.events == ["head 403 with a length", "has no", "ended"])
        #expect(await user.onLoop { $0.isCancelled && $0.isUnread })
        await connectionPool.close()
    }

    // WS-2: RFC 8441 §3
    @Test("a server whose settings do not allow it is not asked", arguments: [[], [(8, 0)]] as [[(UInt16, UInt32)]])
    func notAllowed(settings: [(UInt16, UInt32)]) async throws {
        let server = try server(settings) { _, _ in Issue.record("There was a request.") }
        defer { server.stop() }
        let connectionPool = try await connectionPool(server)
        let user = await connectionPool.onLoop { pool -> TunnelClient? in
            #expect(TunnelClient.open(of: connectionPool) == nil)
            guard let stream = pool.takeIdle(connectionPool.origin, isRepeatable: true) else { return nil }
            #expect(!stream.allowsExtendedConnect)
            return TunnelClient.open(of: connectionPool, on: stream)
        }
        let failure = try #require(await user?.onLoop(\.failure))
        #expect(failure.requiresHTTP1 && failure.progress == .unsent)
        #expect(await user?.onLoop(\.isCancelled) == true)
        #expect(await isIdle(connectionPool))
        await connectionPool.close()
    }

    // MARK: HTTP/3

    // WS-2: RFC 9220
    @Test("a tunnel over HTTP/3", .needsHTTP3, .needs(.aioquic)) func http3() async throws {
        let server = try AioquicServer(files: ["small": Array("x".utf8)], authority: TrustedAuthority.authority)
        defer { server.stop() }
        let port = try #require(server.secureURL("/").port)
        let connectionPool = PoolOnLoop(to: port, host: "localhost", isSecure: true)
        _ = await connectionPool.client("a", assumesHTTP3: true, sends: "GET")
        try await connectionPool.recorded.wait(for: "a is done")
        try await eventually {
            await connectionPool.onLoop { pool in
                pool.allConnections.contains { ($0 as? HTTP3Connection)?.allowsExtendedConnect == true }
            }
        }
        func open(_ path: String, sending text: String? = nil) async throws -> TunnelClient {
            try #require(
                await connectionPool.onLoop { _ in TunnelClient.open(path, of: connectionPool, sending: text) })
        }

        let user = try await open("/echo", sending: "hello")
        try await user.recorded.wait(for: "has hello")
        #expect(user.recorded.events.first == "head 200 websocket https localhost /echo?x=1")
        // More than any window.
        let length = 5_000_000
        await user.onLoop { $0.send(Data(count: length)) }
        try await user.recorded.wait(for: "has \(length + 5) bytes")
        await user.onLoop { $0.endSending() }
        try await user.recorded.wait(for: "ended")
        #expect(user.recorded.events.suffix(3) == ["sent the end", "the server has ended", "ended"])

        let ended = try await open("/ended")
        try await ended.recorded.wait(for: "the server has ended")
        await ended.onLoop { $0.send(Data("last".utf8)) }
        await ended.onLoop { $0.endSending() }
        try await ended.recorded.wait(for: "ended")
        #expect(
            ended.recorded.events.dropFirst() == ["has bye", "the server has ended", "sent 4", "sent the end", "ended"])

        let reset = try await open("/reset", sending: "x")
        try await reset.recorded.wait(for: "lost -1005")
        let declined = try await open("/declined", sending: "x")
        try await declined.recorded.wait(for: "ended")
        #expect(declined.recorded.events.first == "head 403 with a length")
        #expect(await declined.onLoop { $0.isCancelled && $0.isUnread })
        try await eventually { await isIdle(connectionPool) }
        await connectionPool.close()
    }
}
