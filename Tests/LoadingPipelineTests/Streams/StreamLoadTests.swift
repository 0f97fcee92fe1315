import Foundation
import LoadingEvents
import LoadingProtocols
import LoadingSemantics
import LoadingTestSupport
import LoadingTransport
import TestSupport
import Testing

@testable import LoadingConnections
@testable import LoadingPipeline

/// The load of a stream on a connection that has TLS already.
@Suite struct StreamLoadTests {
    /// A load, its client and its connection. All but `run` is for the loop.
    private final class Bench: @unchecked Sendable {
        // Sendable because what is mutable is touched on the loop only.

        let stepped: SteppedLoop
        let client = RecordingClient()
        private(set) var load: StreamLoad?
        private(set) var descriptor: Int32 = -1
        private let pool: ConnectionPool
        private let environment: LoadingEnvironment
        private var connector: SecureConnector?

        /// Connects, and starts the load with the connection.
        init(to server: ScriptedServer, sendBufferSize: Int32? = nil) throws {
            stepped = try SteppedLoop()
            pool = ConnectionPool(
                loop: stepped.loop, security: ConnectionSecurity(TLSConfiguration(), clock: stepped.loop.clock),
                maximumPerHost: 6)
            environment = LoadingEnvironment(
                loop: stepped.loop, pool: pool,
                transportSecurity: TransportSecurityStage(hosts: HSTSStore(suffixes: .topLevelDomains), rules: nil),
                proxies: nil, clearDefaults: HTTPFields(), secureDefaults: HTTPFields())
            connector = try SecureConnector(to: server, on: stepped.loop, sendBufferSize: sendBufferSize) {
                [weak self] stream in
                self?.start(on: stream)
            }
        }

        private func start(on stream: ByteStream) {
            descriptor = stream.descriptor
            let origin = ConnectionKey(isSecure: true, host: "localhost", port: 443)
            let load = StreamLoad(
                on: DetachedConnection(stream: stream, key: origin, rest: []), in: environment,
                limits: StreamLoad.Limits(idle: 60, total: .infinity, waitsForConnectivity: false), log: nil,
                client: client)
            self.load = load
            load.start(.first)
        }

        /// Waits until the client got this event.
        func wait(for event: String) async throws {
            try await eventually { (try? await self.stepped.run { self.client.events.contains(event) }) == true }
        }

        /// Waits until the load has the connection.
        func waitUntilStarted() async throws {
            try await eventually { (try? await self.stepped.run { self.load != nil }) == true }
        }

        /// Runs `body` on the loop, and lets the loop rest.
        func run<Result: Sendable>(_ body: @escaping @Sendable (Bench) -> Result) async throws -> Result {
            let result = try await stepped.run { body(self) }
            try await stepped.settle()
            return result
        }

        /// Ends the load and all that it waits for.
        func close() async throws {
            try await run { bench in
                bench.load?.cancel(.cancelled)
                bench.pool.shutDown()
            }
        }

        /// Fills the send buffer with bytes that are not encrypted, and returns their number.
        func fillSendBuffer() -> Int {
            var count = 0
            let bytes = [UInt8](repeating: 0, count: 65_536)
            // Single bytes fill what is left.
            for size in [bytes.count, 1] {
                while case let sent = send(descriptor, bytes, size, Int32(MSG_NOSIGNAL)), sent > 0 { count += sent }
            }
            return count
        }
    }

    private func server(_ script: @escaping ScriptedServer.Script) throws -> ScriptedServer {
        var options = ScriptedServer.Options()
        options.receiveBufferSize = 4_096
        let identity = try TestIdentity.selfSigned(.localhost)
        return try ScriptedServer(options, tls: TLSServerOptions(identity), script: script)
    }

    // STREAM-5
    @Test("close_notify that finds the send buffer full is sent, though the peer ended first")
    func closeNotifyAfterTheEnd() async throws {
        let hasRoom = Signal("that the server reads")
        let received = Watched(0)
        let server = try server { connection in
            try connection.sendCloseNotify()
            try connection.wait(for: hasRoom)
            while case let bytes = try connection.receiveBelowTLS(), !bytes.isEmpty {
                received.withValue { $0 += bytes.count }
            }
        }
        defer { server.stop() }
        let bench = try Bench(to: server, sendBufferSize: 4_096)
        try await bench.wait(for: "reading closed")
        let filled = try await bench.run { bench in
            let filled = bench.fillSendBuffer()
            bench.load?.closeWriting()
            return filled
        }
        #expect(try await bench.run { $0.client.events } == ["reading closed", "writing closed", "done"])
        hasRoom.fire()
        try await server.finish()
        #expect(received.current > filled)
        try await bench.close()
    }

    // STREAM-3: other connections of the loop get their turn
    @Test("a turn writes a part of much data, and the next turns the rest") func writeBudget() async throws {
        let count = 3_000_000
        let server = try ScriptedServer(tls: TLSServerOptions(TestIdentity.selfSigned(.localhost))) { connection in
            #expect(try connection.receive(exactly: count).count == count)
            try connection.waitForClose()
        }
        defer { server.stop() }
        let bench = try Bench(to: server)
        try await bench.waitUntilStarted()
        let events = try await bench.run { bench in
            bench.load?.write(Data(count: count), timeout: nil) { error in
                bench.client.note(error == nil ? "written" : "not written")
            }
            return bench.client.events
        }
        // Less than two budgets, and still less if the kernel takes less.
        #expect(events.compactMap { Int($0.dropFirst("wrote ".count)) }.reduce(0, +) < 512 * 1024)
        try await bench.wait(for: "written")
        _ = try await bench.run { $0.load?.closeWriting() }
        try await server.finish()
        try await bench.close()
    }
}

extension RecordingClient: StreamClient {
    var wantsBetterRoutes: Bool { false }
    func load(_ load: StreamLoad, didRead count: Int) { note("read \(count)") }
    func load(_ load: StreamLoad, didWrite count: Int) { note("wrote \(count)") }
    func loadHasClosedReading(_ load: StreamLoad) { note("reading closed") }
    func loadHasClosedWriting(_ load: StreamLoad) { note("writing closed") }
    func loadHasBetterRoute(_ load: StreamLoad) { note("a better route") }
    func load(_ load: StreamLoad, hasCaptured captured: CapturedConnection) { note("captured") }
}
