import Foundation
import LoadingPipeline
import LoadingSemantics
import LoadingStorage
import LoadingTransport
import TestSupport
import Testing

@testable import URLLoading

/// Memory that is retained for a stalled disk.
@Suite(.leavesNothing) struct SlowStoreMemoryTests {
    private struct Weak: @unchecked Sendable {
        // Sendable: weak references are read and cleared atomically.
        weak var core: TaskCore?
        weak var load: (any Load)?

        var isGone: Bool { core == nil && load == nil }
    }

    /// Loads until a store is queried, then cancels.
    private func cancel(in session: URLSession, whenAsked: () async throws -> Void) async throws -> Weak {
        let task = session.dataTask(with: try #require(URL(string: "http://127.0.0.1:1/")))
        task.resume()
        try await whenAsked()
        let load = Watched<Weak?>(nil)
        let core = try #require(task.core)
        core.core.loop.post { load.withValue { $0 = Weak(core: core, load: core.load) } }
        let weak = try await load.wait(for: "the load") { $0 }
        #expect(weak.load != nil)
        task.cancel()
        return weak
    }

    // COOK-17
    @Test("a task that has ended is released while cookies are read") func cookies() async throws {
        let recordStore = ScriptedRecordStore<Cookie>([])
        recordStore.block(.load)
        defer { recordStore.unblock(.load) }
        let storage = HTTPCookieStorage(unlessEmpty: { true }, recordStore: { recordStore })
        let session = URLSession {
            $0.httpCookieStorage = storage
            $0.urlCache = nil
        }
        defer { session.finishTasksAndInvalidate() }
        let task = try await cancel(in: session) { try await recordStore.wait(for: .load) }
        // Sooner than the disk gives up.
        try await eventually(within: .seconds(5)) { task.isGone }
    }

    // CACHE-24
    @Test("a task that has ended is released while a stored response is looked up") func cache() async throws {
        let directory = try TemporaryDirectory()
        let cache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 1 << 20, directory: directory.file("cache"))
        let (stopped, goOn) = (Signal("the disk does not answer"), Signal("the disk goes on"))
        defer { goOn.fire() }
        _ = cache.currentDiskUsage
        cache.flush {
            stopped.fire()
            try? goOn.wait()
        }
        try await stopped.wait()
        let session = URLSession { $0.urlCache = cache }
        defer { session.finishTasksAndInvalidate() }
        let task = try await cancel(in: session) {}
        // Sooner than the disk gives up.
        try await eventually(within: .seconds(5)) { task.isGone }
    }
}
