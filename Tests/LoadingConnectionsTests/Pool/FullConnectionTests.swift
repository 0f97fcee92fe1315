import LoadingTransport
import TestSupport
import Testing

@testable import LoadingConnections

private typealias FrameType = HTTP2ServerConnection.FrameType

/// Connections on which more is unread than they have room for.
@Suite(.timeLimit(.minutes(1))) struct FullConnectionTests {
    // CONN-22: what many have not read closes the connection's window, which later requests did not cause
    @Test("readers that do not read, until the connection is full", arguments: [1_000, 65])
    func full(limit: UInt32) async throws {
        let count = 65
        let hasRoom = Signal("a window that opens again")
        let tls = try TrustedAuthority.server().with { $0.applicationProtocols = ["h2"] }
        let server = try ScriptedServer(tls: tls) { connection in
            let http2 = try HTTP2ServerConnection(connection, settings: [(3, limit)])
            guard connection.index == 0 else {
                while true { try http2.respond(on: try http2.readRequest(), body: "x") }
            }
            // The megabyte that each may send, and nothing behind it.
            let piece = [UInt8](repeating: 0, count: 16_384)
            for _ in 0..<count {
                let stream = try http2.readRequest()
                try http2.sendHead(on: stream)
                for _ in 0..<64 { try http2.sendBody(piece, on: stream, ends: false) }
            }
            while true {
                let frame = try http2.readFrame()
                if frame.type == FrameType.headers { try http2.respond(on: frame.stream, body: "x") }
                if frame.type == FrameType.windowUpdate, frame.stream > 0 { hasRoom.fire() }
            }
        }
        defer { server.stop() }
        var configuration = TLSConfiguration()
        configuration.applicationProtocols = ["h2", "http/1.1"]
        let connectionPool = PoolOnLoop(
            to: server.port, host: "localhost", isSecure: true, configuration: configuration)
        var readers: [PoolClient] = []
        for index in 0..<count {
            readers.append(await connectionPool.client("\(index)", sends: "GET", pauses: true))
            try await connectionPool.recorded.wait(for: "\(index) received 200")
        }
        // All may still be on its way.
        var visitors = 0
        while server.connectionCount == 1, visitors < 10_000 {
            visitors += 1
            _ = await connectionPool.client("visitor \(visitors)", sends: "GET")
            try await connectionPool.recorded.wait(for: "visitor \(visitors) is done")
        }
        #expect(server.connectionCount == 2)
        // Those that are there go on where they are.
        await connectionPool.onLoop { [reader = readers[0]] _ in reader.goOn() }
        try await hasRoom.wait()
        _ = await connectionPool.client("last", sends: "GET")
        try await connectionPool.recorded.wait(for: "last is done")
        #expect(server.connectionCount == 2)
        await connectionPool.close()
    }
}
