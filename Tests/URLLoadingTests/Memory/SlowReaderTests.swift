import Foundation
import TestSupport
import Testing
import URLLoading

/// Slow readers: the server is blocked by flow control, and memory use is constant. `soak slow-reader` is the long
/// version.
@Suite(.leavesNothing) struct SlowReaderTests {
    /// The maximum number of bytes buffered between server and reader, in kernels and the library.
    private static let most = 16_000_000
    private static let mostMemory = Memory.limit(16_000_000)
    private static let size = 48_000_000

    private func makeServer(isSecure: Bool) throws -> ScriptedServer {
        try ScriptedServer.answering(.endless, tls: isSecure ? TrustedAuthority.server() : nil)
    }

    // T-65, CONN-22
    @Test("a response that is not let through", arguments: [false, true]) func aResponseThatIsNotLetThrough(
        isSecure: Bool
    ) async throws {
        let server = try makeServer(isSecure: isSecure)
        defer { server.stop() }
        let before = Memory.resident
        let delegate = CountingDelegate()
        let letThrough = Watched<(@Sendable (URLSession.ResponseDisposition) -> Void)?>(nil)
        delegate.answer = { _, answer in letThrough.withValue { $0 = answer } }
        delegate.during = { count, task in if count >= Self.size { task.cancel() } }
        let session = URLSession(delegate)
        session.dataTask(with: server.url()).resume()
        session.finishTasksAndInvalidate()
        let accepted = try await server.connection(0).waitUntilBlocked()
        #expect(accepted < Self.most)
        #expect(delegate.received.current == 0)
        #expect(Memory.resident - before < Self.mostMemory)
        letThrough.withValue { answer in
            defer { answer = nil }
            return answer
        }?(.allow)
        try await delegate.ended.wait()
        #expect(delegate.received.current >= Self.size)
    }

    // T-65, CONN-22
    @Test("a delegate that takes its time", arguments: [false, true]) func aDelegateThatTakesItsTime(isSecure: Bool)
        async throws
    {
        let server = try makeServer(isSecure: isSecure)
        defer { server.stop() }
        let before = Memory.resident
        let peak = Watched(0)
        let ahead = Watched(0)
        let delegate = CountingDelegate()
        delegate.during = { count, task in
            // What makes it slow.
            usleep(400)
            peak.withValue { $0 = max($0, Memory.resident) }
            let lead = (server.connections.first?.bytesAccepted ?? 0) - count
            ahead.withValue { $0 = max($0, lead) }
            if count >= Self.size { task.cancel() }
        }
        let session = URLSession(delegate)
        session.dataTask(with: server.url()).resume()
        session.finishTasksAndInvalidate()
        try await delegate.ended.wait()
        #expect(delegate.received.current >= Self.size)
        #expect(ahead.current < Self.most)
        #expect(peak.current - before < Self.mostMemory)
    }

    // T-58, CONN-22
    @Test("a slow reader of bytes", arguments: [false, true]) func aSlowReaderOfBytes(
        isSecure: Bool
    ) async throws {
        let server = try makeServer(isSecure: isSecure)
        defer { server.stop() }
        let session = URLSession { _ in }
        let before = Memory.resident
        var peak = 0
        var ahead = 0
        let (bytes, _) = try await session.bytes(from: server.url())
        var count = 0
        for try await _ in bytes {
            count += 1
            guard count % 100_000 == 0 else { continue }
            try await server.connection(0).waitUntilBlocked()
            peak = max(peak, Memory.resident)
            ahead = max(ahead, try await server.connection(0).bytesAccepted - count)
            if count >= 2_000_000 { break }
        }
        #expect(ahead < Self.most)
        #expect(peak - before < Self.mostMemory)
        bytes.task.cancel()
        try await server.connection(0).waitForEnd()
        session.invalidateAndCancel()
    }
}
