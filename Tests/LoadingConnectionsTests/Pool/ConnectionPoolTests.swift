import LoadingConnections
import LoadingEvents
import LoadingSemantics
import LoadingTransport
import TestSupport
import Testing

/// A pool, asked directly.
@Suite struct ConnectionPoolTests {
    /// Puts back whatever connection it gets.
    private final class Taker: ConnectionTaker {
        let pool: ConnectionPool
        let done: Signal

        init(_ pool: ConnectionPool, _ done: Signal) {
            self.pool = pool
            self.done = done
        }

        func connectionIsBeingMade() {}

        func took(_ connection: HTTP1Connection, isReused: Bool, events: [LoadEvent]) {
            pool.putBack(connection)
            done.fire()
        }

        func connectionFailed(_ error: LoadError, events: [LoadEvent]) { done.fire() }
    }

    private struct WeakPool {
        weak var pool: ConnectionPool?
    }

    // CONN-19: what the server closes while it is idle holds nothing any more
    @Test func `a pool goes though its idle connections were closed by the server`() async throws {
        let isIdle = Signal("an idle connection")
        let server = try ScriptedServer(steps: [.wait(isIdle), .close])
        defer { server.stop() }
        let loop = EventLoops.assign()
        let origin = Origin(isSecure: false, host: "127.0.0.1", port: UInt16(server.port))
        let watched = await on(loop) {
            let pool = ConnectionPool(
                loop: loop, security: ConnectionSecurity(TLSConfiguration()), maximumPerHost: 1)
            pool.request(
                ConnectionRequest(origin: origin, priority: 0.5, acceptsReused: true, isRepeatable: true, taker: Taker(pool, isIdle)))
            return LoopBox(Kept(pool))
        }
        try await isIdle.wait()
        try await server.connection(0).waitUntilClosed()
        while await on(loop, { watched.value.pool?.connectionCount ?? 0 }) > 0 {}
        let weak = await on(loop) {
            defer { watched.value.pool = nil }
            return LoopBox(WeakPool(pool: watched.value.pool))
        }
        let isGone = await on(loop) { weak.value.pool == nil }
        #expect(isGone)
    }

    private final class Kept {
        var pool: ConnectionPool?
        init(_ pool: ConnectionPool) { self.pool = pool }
    }

    private func on<Result: Sendable>(_ loop: EventLoop, _ body: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in loop.post { continuation.resume(returning: body()) } }
    }
}
