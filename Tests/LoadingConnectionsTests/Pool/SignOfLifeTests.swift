import Glibc
import LoadingTransport
import TestSupport
import Testing

@testable import LoadingConnections

/// Peers of HTTP/2 connections that may be gone without anybody's having said so.
@Suite(.timeLimit(.minutes(1))) struct SignOfLifeTests {
    private func house(_ server: ScriptedServer) async -> PoolOnLoop {
        var configuration = TLSConfiguration()
        configuration.applicationProtocols = ["h2", "http/1.1"]
        let house = PoolOnLoop(to: server.port, host: "localhost", isSecure: true, configuration: configuration)
        await house.onLoop {
            $0.trustedSilence = 0
            $0.patience = 200_000_000
        }
        return house
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

    // S-7, CONN-10: a request on a connection that nobody answers any more does not wait for its own time
    @Test("who gives no sign of life loses the connection") func silent() async throws {
        let types = Watched<[UInt8]>([])
        let server = try server { http2 in
            // Everything is read, and nothing is said.
            while true {
                let type = try http2.readFrame().type
                types.withValue { $0.append(type) }
            }
        }
        defer { server.stop() }
        let house = await house(server)
        _ = await house.customer("a", sends: "GET")
        try await house.heard.wait(for: "a is done")
        let start = ContinuousClock.now
        _ = await house.customer("b", sends: "GET")
        try await house.heard.wait(for: "b lost -1005")
        #expect(ContinuousClock.now - start < .seconds(10))
        let asked = types.current.filter { [HTTP2ServerConnection.FrameType.ping, 1].contains($0) }
        #expect(Set(asked) == [HTTP2ServerConnection.FrameType.ping, HTTP2ServerConnection.FrameType.headers])
        #expect(await house.onLoop { $0.connectionCount } == 0)
        await house.close()
    }

    // S-42: what is done away with is not there for as long as the connection
    @Test("who takes nothing loses the connection when an upload is cancelled", arguments: [true, false])
    func stalled(isSilent: Bool) async throws {
        let mayEnd = Signal("the end of the test")
        let server = try server { http2 in
            // Room for all of it, but nobody reads.
            try http2.send(HTTP2ServerConnection.FrameType.settings, stream: 0, [0, 4, 0x7F, 0xFF, 0xFF, 0xFF])
            try http2.send(HTTP2ServerConnection.FrameType.windowUpdate, stream: 0, [0x40, 0, 0, 0])
            guard isSilent else {
                // Somebody who speaks is not gone.
                while !mayEnd.isFired {
                    try http2.send(HTTP2ServerConnection.FrameType.ping, stream: 0, [UInt8](repeating: 0, count: 8))
                    usleep(20_000)
                }
                return
            }
            try http2.connection.wait(for: mayEnd)
        }
        defer { server.stop() }
        let house = await house(server)
        // No ping is sent beside the upload, which would find out as well.
        await house.onLoop {
            $0.trustedSilence = .max
            if !isSilent { $0.patience = 2_000_000_000 }
        }
        _ = await house.customer("a", sends: "GET")
        try await house.heard.wait(for: "a is done")
        let upload = await house.customer("b", sends: "PUT", body: 64 << 20)
        try await eventually { await house.onLoop { _ in upload.looksStalled() } }
        await house.onLoop { _ in upload.cancel() }
        guard isSilent else {
            // Longer than a silent peer has.
            let end = ContinuousClock.now + .seconds(3)
            try await eventually { ContinuousClock.now > end }
            #expect(await house.onLoop { $0.connectionCount } == 1)
            mayEnd.fire()
            return await house.close()
        }
        // Sooner than the server gives up.
        try await eventually(within: .seconds(5)) { await house.onLoop { $0.connectionCount } == 0 }
        mayEnd.fire()
        await house.close()
    }

    // S-42: who was cancelled before anything of him went out is none that the server is to hear of
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
        let house = await house(server)
        await house.onLoop { $0.trustedSilence = .max }
        _ = await house.customer("a", sends: "GET")
        try await house.heard.wait(for: "a is done")
        let upload = await house.customer("b", sends: "PUT", body: 64 << 20)
        try await eventually { await house.onLoop { _ in upload.looksStalled() } }
        let other = await house.customer("c", sends: "GET")
        await house.onLoop { _ in other.cancel() }
        // Several times as long as a peer has that is to hear of something.
        let end = ContinuousClock.now + .seconds(1)
        try await eventually { ContinuousClock.now > end }
        #expect(await house.onLoop { $0.connectionCount } == 1)
        mayEnd.fire()
        await house.close()
    }

    // S-7: a server that takes its time is not one that is gone
    @Test("who answers that he is there is waited for") func slow() async throws {
        let server = try server { http2 in
            var stream: Int32?
            var pings = 0
            // The answer comes some time after the patience for a ping would have ended.
            while pings == 0 || stream == nil {
                let frame = try http2.readFrame()
                if frame.type == HTTP2ServerConnection.FrameType.headers { stream = frame.stream }
                if frame.type == HTTP2ServerConnection.FrameType.ping, frame.flags & 1 == 0 {
                    pings += 1
                    try http2.send(frame.type, flags: 1, stream: 0, frame.payload)
                }
            }
            let end = ContinuousClock.now + .milliseconds(600)
            while ContinuousClock.now < end { usleep(10_000) }
            try http2.respond(on: stream ?? 0, body: "y")
            _ = try http2.connection.waitForClose()
        }
        defer { server.stop() }
        let house = await house(server)
        _ = await house.customer("a", sends: "GET")
        try await house.heard.wait(for: "a is done")
        _ = await house.customer("b", sends: "GET")
        try await house.heard.wait(for: "b is done")
        #expect(await house.onLoop { $0.connectionCount } == 1)
        await house.close()
    }
}
