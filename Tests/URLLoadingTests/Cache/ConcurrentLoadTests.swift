import Foundation
import TestSupport
import Testing
import URLLoading

/// Concurrent loads of one URL, and the resulting cache entry.
@Suite(.leavesNothing) struct ConcurrentLoadTests {
    /// Larger than bodies in the disk cache's index, and than one piece of data.
    private static let size = 200_000

    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    /// A cache in memory or on disk only.
    private func cache(onDisk: Bool) -> URLCache {
        URLCache(
            memoryCapacity: onDisk ? 0 : 8 << 20, diskCapacity: onDisk ? 8 << 20 : 0, directory: directory.file("cache")
        )
    }

    /// A server that answers each request with another letter, and sends the second half of the body after the signal.
    private func server(_ goOn: Signal) throws -> ScriptedServer {
        let count = Watched(0)
        return try ScriptedServer { connection in
            do {
                while try connection.nextRequest() != nil {
                    let number = count.withValue { count in
                        defer { count += 1 }
                        return count
                    }
                    let half = [UInt8](repeating: UInt8(ascii: "a") + UInt8(number), count: Self.size / 2)
                    try connection.send(
                        "HTTP/1.1 200 OK\r\nContent-Length: \(Self.size)\r\nCache-Control: max-age=3600\r\n\r\n")
                    try connection.send(half)
                    try connection.wait(for: goOn)
                    try connection.send(half)
                }
            } catch  where connection.record.end != nil {
                return
            }
        }
    }

    private func isWhole(_ body: Data) -> Bool { body.count == Self.size && Set(body).count == 1 }

    // CACHE-24, CACHE-25: RFC 9111 §3.3
    @Test(
        "of loads that are cancelled in the middle nothing is stored, of the others a whole body, which a hit brings",
        arguments: [[], [0], [1], [2], [0, 1], [0, 1, 2]], [false, true])
    func cancelled(cancelled: [Int], onDisk: Bool) async throws {
        let goOn = Signal("the second half")
        let server = try server(goOn)
        defer { server.stop() }
        let cache = cache(onDisk: onDisk)
        let delegate = RecordingDelegate()
        let session = URLSession(delegate) { $0.urlCache = cache }
        let tasks = (0..<3).map { _ in session.dataTask(with: server.url()) }
        for task in tasks { task.resume() }
        // All are in the middle of their bodies.
        _ = try await delegate.calls.waitUntil("some of each body") { calls in
            (1...3).allSatisfy { task in calls.contains { if case .data(task, _) = $0 { true } else { false } } }
        }
        for number in cancelled { tasks[number].cancel() }
        _ = try await delegate.calls.waitUntil("the cancelled ones") { $0.completionCount == cancelled.count }
        goOn.fire()
        let calls = try await delegate.calls(untilCompletions: 3)
        for number in 0..<3 {
            let isCancelled = cancelled.contains(number)
            #expect(calls.contains(.completed(number + 1, isCancelled ? .cancelled : nil)))
            let bodies = calls.of(number + 1).joined.compactMap {
                if case .data(_, let text) = $0 { text } else { nil }
            }
            #expect(isCancelled || bodies.count == 1 && isWhole(Data(bodies[0].utf8)))
        }
        await session.flush()
        let stored = cache.cachedResponse(for: URLRequest(url: server.url()))?.data
        #expect(stored.map(isWhole) == (cancelled.count < 3 ? true : nil))
        // A hit, unless nothing was stored.
        let (hit, _) = try await session.data(from: server.url())
        #expect(isWhole(hit) && (stored == nil || hit == stored))
        #expect(server.requests.count == (cancelled.count < 3 ? 3 : 4))
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
    }
}
