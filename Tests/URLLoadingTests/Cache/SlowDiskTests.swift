import Foundation
import LoadingSemantics
import TestSupport
import Testing

@testable import URLLoading

/// The disk tier of the cache while the disk is stalled.
@Suite(.leavesNothing) struct SlowDiskTests {
    private static let size = 1 << 20
    /// A body of that size. At most 16 MiB can be pending.
    private static let mostWaiting = 16

    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func cache() -> URLCache {
        URLCache(memoryCapacity: 100 << 20, diskCapacity: 400 << 20, directory: directory.file("cache"))
    }

    private func request(_ path: String) throws -> URLRequest {
        URLRequest(url: try #require(URL(string: "https://example.org" + path)))
    }

    private func store(
        _ path: String, _ body: String, fields: [String: String] = [:], in cache: URLCache
    ) throws {
        let request = try request(path)
        let response = HTTPURLResponse(
            url: try #require(request.url), statusCode: 200, httpVersion: nil, headerFields: fields)
        cache.storeCachedResponse(
            CachedURLResponse(response: try #require(response), data: Data(body.utf8)), for: request)
    }

    private func body(_ path: String, in cache: URLCache) throws -> String? {
        cache.cachedResponse(for: try request(path)).map { String(decoding: $0.data, as: UTF8.self) }
    }

    private func flush(_ cache: URLCache) async {
        await withCheckedContinuation { continuation in cache.flush { continuation.resume() } }
    }

    /// Stalls the disk thread until the signal.
    private func stop(_ cache: URLCache) async throws -> Signal {
        _ = cache.currentDiskUsage
        let (stopped, goOn) = (Signal("the disk does not answer"), Signal("the disk goes on"))
        cache.flush {
            stopped.fire()
            try? goOn.wait()
        }
        try await stopped.wait()
        return goOn
    }

    // CACHE-10, CACHE-25: by its date; its load began before the other one was stored
    @Test("an older response does not replace a newer one that waits for the disk", arguments: [false, true])
    func overlapping(isNewer: Bool) async throws {
        let cache = URLCache(memoryCapacity: 0, diskCapacity: 8 << 20, directory: directory.file("cache"))
        let goOn = try await stop(cache)
        let url = try #require(URL(string: "https://example.org/"))
        let count = cache.changeCount
        try store("/", "stored", fields: ["Date": HTTPDate.text(2000)], in: cache)
        let response = try #require(
            HTTPURLResponse(
                url: url, statusCode: 200, httpVersion: nil,
                headerFields: ["Date": HTTPDate.text(isNewer ? 3000 : 1000)]))
        let loaded = CachedURLResponse(response: response, data: Data("loaded".utf8)).noting(URLRequest(url: url))
        cache.store(loaded, for: CacheKey(address: "https://example.org/", partition: nil), loadedSince: count)
        goOn.fire()
        #expect(try body("/", in: cache) == (isNewer ? "loaded" : "stored"))
    }

    // CACHE-24
    @Test(
        "what waits for the disk is bounded; what is beyond that is in memory alone, and takes along what was there",
        arguments: [false, true])
    func bounded(isHead: Bool) async throws {
        let cache = cache()
        try store("/old", "first", in: cache)
        await flush(cache)
        let goOn = try await stop(cache)
        // The head counts too, of which a disk takes less at once.
        let large = String(repeating: "x", count: isHead ? Self.size / 2 : Self.size)
        let most = isHead ? 2 * Self.mostWaiting : Self.mostWaiting
        for number in 0..<40 {
            if isHead {
                try store("/\(number)", "", fields: ["X-Large": large], in: cache)
            } else {
                try store("/\(number)", large, in: cache)
            }
        }
        try store("/old", "second", in: cache)
        // None of this waits for the disk.
        #expect(try body("/old", in: cache) == "second")
        for number in 0..<40 { #expect(try body("/\(number)", in: cache) == (isHead ? "" : large)) }
        goOn.fire()
        await flush(cache)
        // What has waited is written: there is room again.
        try store("/late", "late", in: cache)
        await flush(cache)
        let other = self.cache()
        let found = try (0..<40).map { try body("/\($0)", in: other) != nil }
        #expect(found == (0..<40).map { $0 < most })
        #expect(try body("/old", in: other) == nil)
        #expect(try body("/late", in: other) == "late")
        #expect(try body("/old", in: cache) == "second")
    }

    // CACHE-24, CACHE-14
    @Test("pending head updates are bounded") func boundedHeads() async throws {
        let cache = cache()
        let large = String(repeating: "x", count: Self.size)
        for number in 0..<40 {
            try store("/\(number)", large, in: cache)
            await flush(cache)
        }
        let goOn = try await stop(cache)
        for number in 0..<40 {
            let request = try request("/\(number)")
            let old = try #require(cache.cachedResponse(for: request))
            let url = try #require(request.url)
            let head = try #require(
                HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: ["X-New": "yes"]))
            cache.replace(
                old, with: CachedURLResponse(response: head, data: old.data),
                for: CacheKey(address: url.absoluteString, partition: nil))
        }
        goOn.fire()
        await flush(cache)
        let other = self.cache()
        let found = try (0..<40).map { number in
            let response = try other.cachedResponse(for: request("/\(number)"))?.response as? HTTPURLResponse
            return response?.value(forHTTPHeaderField: "X-New")
        }
        #expect(found == (0..<40).map { $0 < Self.mostWaiting ? "yes" : nil })
        // In memory all of them are as they are now.
        let response = try cache.cachedResponse(for: request("/39"))?.response as? HTTPURLResponse
        #expect(response?.value(forHTTPHeaderField: "X-New") == "yes")
    }

    // CACHE-24
    @Test("alternating stores and removals during a disk stall leave the last state") func turns()
        async throws
    {
        let cache = cache()
        try store("/old", "old", in: cache)
        await flush(cache)
        let goOn = try await stop(cache)
        for _ in 0..<3 {
            for path in ["/stored", "/removed", "/old"] {
                cache.removeCachedResponse(for: try request(path))
                try store(path, "new", in: cache)
            }
            for path in ["/removed", "/old"] { cache.removeCachedResponse(for: try request(path)) }
        }
        cache.removeCachedResponse(for: try request("/stored"))
        try store("/stored", "last", in: cache)
        goOn.fire()
        await flush(cache)
        let other = self.cache()
        #expect(try ["/stored", "/removed", "/old"].map { try body($0, in: other) } == ["last", nil, nil])
    }

    // CACHE-24
    @Test("removals during a disk stall are merged") func removals() async throws {
        let removals = WaitingRemovals()
        func key(_ number: Int, _ length: Int = 0) -> CacheKey {
            CacheKey(
                address: "https://example.org/\(number)" + String(repeating: "x", count: length), partition: nil)
        }
        let first = try #require(removals.add([key(0)]))
        for number in 0..<1000 { #expect(removals.add([key(number % 10)]) == nil) }
        #expect(removals.take(first) == Set((0..<10).map { key($0) }))
        let second = try #require(removals.add([key(1)]))
        removals.close()
        // More than is to wait: all that is there goes.
        let third = try #require(removals.add([key(2)]))
        for number in 0..<200 { #expect(removals.add([key(number, 100_000)]) == nil) }
        #expect(removals.take(third) == nil)
        #expect(removals.take(second) == [key(1)])
    }

    // CACHE-24, CACHE-25
    @Test("a load of what the disk does not hold does not wait for it") func absent() async throws {
        let server = try ScriptedServer.answering { .text($0.path).with(field: "Cache-Control", "no-store") }
        defer { server.stop() }
        let first = cache()
        try store("/there", "there", in: first)
        await flush(first)
        let cache = cache()
        let session = URLSession { $0.urlCache = cache }
        defer { session.finishTasksAndInvalidate() }
        // The first lookup has the keys listed.
        #expect(try await session.data(from: server.url("/first")).0 == Data("/first".utf8))
        let goOn = try await stop(cache)
        #expect(try await session.data(from: server.url("/second")).0 == Data("/second".utf8))
        goOn.fire()
        await flush(cache)
        #expect(try body("/there", in: cache) == "there")
    }

    // CACHE-24, CACHE-25: a hanging disk does not hold up loads that the server can answer
    @Test("a load of what the disk may hold goes on without it", .timeLimit(.minutes(1))) func hanging() async throws {
        let server = try ScriptedServer.answering { .text($0.path).with(field: "Cache-Control", "max-age=3600") }
        defer { server.stop() }
        let first = cache()
        for path in ["/a", "/b", "/c"] {
            let request = URLRequest(url: server.url(path))
            let response = try #require(
                HTTPURLResponse(url: server.url(path), statusCode: 200, httpVersion: nil, headerFields: nil))
            first.storeCachedResponse(CachedURLResponse(response: response, data: Data("old".utf8)), for: request)
        }
        await flush(first)
        let cache = cache()
        let session = URLSession { $0.urlCache = cache }
        defer { session.finishTasksAndInvalidate() }
        func findDisk(_ path: String) throws -> ResponseDisk? {
            let key = CacheKey(url: try HTTPURL(server.url(path).absoluteString))
            if case .onDisk(_, let disk) = cache.knownResponse(for: key).0 { return disk } else { return nil }
        }
        let goOn = try await stop(cache)
        let disk = try #require(try findDisk("/b"))
        #expect(!disk.isStalled)
        // The first waits until the limit. Then the disk counts as stalled.
        #expect(try await session.data(from: server.url("/a")).0 == Data("/a".utf8))
        #expect(disk.isStalled)
        // This one waits, because nothing else can answer. It has begun when the next one, which does not ask the disk,
        // has ended.
        let (cached, ended) = (Watched<Data?>(nil), Signal("the stored response"))
        let request = URLRequest(url: server.url("/c")).with { $0.cachePolicy = .returnCacheDataDontLoad }
        session.dataTask(with: request) { data, _, _ in
            cached.withValue { $0 = data }
            ended.fire()
        }.resume()
        #expect(try await session.data(from: server.url("/b")).0 == Data("/b".utf8))
        goOn.fire()
        try await ended.wait()
        #expect(cached.current == Data("old".utf8))
        await flush(cache)
        #expect(!disk.isStalled)
        // What the server has sent is stored in place of the older response.
        let other = self.cache()
        let stored = ["/a", "/b"].map { other.cachedResponse(for: URLRequest(url: server.url($0)))?.data }
        #expect(stored == [Data("/a".utf8), Data("/b".utf8)])
    }

    // CACHE-24, CACHE-29
    @Test("loads go on while the disk does not answer, and are served from memory")
    func loads() async throws {
        let asked = Watched(0)
        let server = try ScriptedServer.answering { _ in
            // All of them have looked for a stored response before the first one is stored.
            asked.withValue { $0 += 1 }
            _ = try? asked.wait(for: "20 requests") { $0 >= 20 ? () : nil }
            return CannedResponse.bytes([UInt8](repeating: 0x78, count: Self.size))
                .with(field: "Cache-Control", "max-age=3600")
        }
        defer { server.stop() }
        let cache = cache()
        // It is known from then on that nothing is there.
        #expect(try body("/", in: cache) == nil)
        let goOn = try await stop(cache)
        let session = URLSession {
            $0.urlCache = cache
            $0.httpMaximumConnectionsPerHost = 20
        }
        defer { session.finishTasksAndInvalidate() }
        func loadAll() async throws -> [Int] {
            try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<20 {
                    group.addTask { try await session.data(from: server.url("/\(number)")).0.count }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
        }
        let all = [Int](repeating: Self.size, count: 20)
        #expect(try await loadAll() == all)
        #expect(try await loadAll() == all)
        #expect(server.requests.count == 20)
        goOn.fire()
        await flush(cache)
        let other = self.cache()
        let kept = (0..<20).count { other.cachedResponse(for: URLRequest(url: server.url("/\($0)"))) != nil }
        #expect(kept == Self.mostWaiting)
    }
}
