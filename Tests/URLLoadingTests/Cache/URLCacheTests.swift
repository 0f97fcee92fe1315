import Foundation
import TestSupport
import Testing

@testable import URLLoading

@Suite struct URLCacheTests {
    private func request(_ path: String) throws -> URLRequest {
        URLRequest(url: try #require(URL(string: "https://example.com/\(path)")))
    }

    private func response(
        _ path: String, bytes: Int, policy: URLCache.StoragePolicy = .allowed
    ) throws -> CachedURLResponse {
        CachedURLResponse(
            response: URLResponse(
                url: try #require(URL(string: "https://example.com/\(path)")), mimeType: nil,
                expectedContentLength: bytes, textEncodingName: nil),
            data: Data(count: bytes), userInfo: nil, storagePolicy: policy)
    }

    // CACHE-26, CACHE-28
    @Test func storesFindsAndRemoves() throws {
        let cache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0, directory: nil)
        let stored = try response("a", bytes: 10)
        cache.storeCachedResponse(stored, for: try request("a"))
        #expect(cache.cachedResponse(for: try request("a")) === stored)
        #expect(cache.cachedResponse(for: try request("b")) == nil)
        cache.removeCachedResponse(for: try request("a"))
        #expect(cache.cachedResponse(for: try request("a")) == nil)
        #expect(cache.currentMemoryUsage == 0)
        #expect(cache.currentDiskUsage == 0)
    }

    // CACHE-19
    @Test func keyIsTheAddressWithoutFragmentOfAGet() throws {
        let cache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0)
        cache.storeCachedResponse(try response("a", bytes: 1), for: try request("a#one"))
        #expect(cache.cachedResponse(for: try request("a#two")) != nil)
        #expect(cache.cachedResponse(for: try request("a?q")) == nil)
        var partitioned = try request("a")
        partitioned.cookiePartitionIdentifier = "p"
        #expect(cache.cachedResponse(for: partitioned) == nil)
        var post = try request("a")
        post.httpMethod = "POST"
        #expect(cache.cachedResponse(for: post) == nil)
        cache.removeAllCachedResponses()
        cache.storeCachedResponse(try response("a", bytes: 1), for: post)
        #expect(cache.currentMemoryUsage == 0)
    }

    // CACHE-22
    @Test func storagePolicies() throws {
        let cache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0)
        cache.storeCachedResponse(try response("a", bytes: 1, policy: .notAllowed), for: try request("a"))
        cache.storeCachedResponse(try response("b", bytes: 1, policy: .allowedInMemoryOnly), for: try request("b"))
        #expect(cache.cachedResponse(for: try request("a")) == nil)
        #expect(cache.cachedResponse(for: try request("b")) != nil)
    }

    // CACHE-24: the least recently used leaves first, and a lower capacity counts at once.
    @Test func capacityIsKept() throws {
        let cache = URLCache(memoryCapacity: 5 * 2_000, diskCapacity: 0)
        for name in ["a", "b", "c", "d", "e", "f", "g", "h"] {
            cache.storeCachedResponse(try response(name, bytes: 1_000), for: try request(name))
            _ = cache.cachedResponse(for: try request("a"))
            #expect(cache.currentMemoryUsage <= cache.memoryCapacity)
        }
        func kept() throws -> String {
            try "abcdefgh".filter { cache.cachedResponse(for: try request(String($0))) != nil }
        }
        #expect(try kept() == "adefgh")
        cache.memoryCapacity = 3_500
        #expect(try kept() == "gh")
        #expect(cache.currentMemoryUsage <= 3_500)
        cache.storeCachedResponse(try response("big", bytes: 4_000), for: try request("big"))
        #expect(cache.cachedResponse(for: try request("big")) == nil)
        #expect(try kept() == "gh")
        cache.memoryCapacity = 0
        #expect(cache.currentMemoryUsage == 0)
        cache.storeCachedResponse(try response("a", bytes: 0), for: try request("a"))
        #expect(try kept() == "")
        cache.memoryCapacity = -1
        #expect(cache.memoryCapacity == 0)
    }

    @Test func replacingCountsOnce() throws {
        let cache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0)
        cache.storeCachedResponse(try response("a", bytes: 1_000), for: try request("a"))
        cache.storeCachedResponse(try response("a", bytes: 1_000), for: try request("a"))
        let once = cache.currentMemoryUsage
        cache.removeAllCachedResponses()
        cache.storeCachedResponse(try response("a", bytes: 1_000), for: try request("a"))
        #expect(cache.currentMemoryUsage == once)
    }

    @Test func removalSinceADate() throws {
        let cache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0)
        cache.storeCachedResponse(try response("a", bytes: 1), for: try request("a"))
        cache.removeCachedResponses(since: Date(timeIntervalSinceNow: 60))
        #expect(cache.cachedResponse(for: try request("a")) != nil)
        cache.removeCachedResponses(since: .distantPast)
        #expect(cache.cachedResponse(for: try request("a")) == nil)
    }

    /// Calls the cache in its deinit.
    private final class Farewell: Sendable {
        let cache: URLCache
        let isOver: Signal
        init(_ cache: URLCache, _ isOver: Signal) {
            self.cache = cache
            self.isOver = isOver
        }
        deinit {
            _ = cache.currentMemoryUsage
            isOver.fire()
        }
    }

    enum Leaving: CaseIterable, Sendable { case replaced, removed, allRemoved, removedSince, tooLarge }

    // CACHE-25: what is released may be the program's, and call
    @Test("the deinit of an evicted response may call the cache", arguments: Leaving.allCases)
    func endsMayCall(_ leaving: Leaving) throws {
        let cache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0)
        let isOver = Signal("the end of the response that left")
        let (request, other) = (try request("a"), try response("a", bytes: 1))
        do {
            cache.storeCachedResponse(
                CachedURLResponse(
                    response: try response("a", bytes: 1).response, data: Data(),
                    userInfo: ["own": Farewell(cache, isOver)], storagePolicy: .allowed), for: request)
        }
        Thread {
            switch leaving {
            case .replaced: cache.storeCachedResponse(other, for: request)
            case .removed: cache.removeCachedResponse(for: request)
            case .allRemoved: cache.removeAllCachedResponses()
            case .removedSince: cache.removeCachedResponses(since: .distantPast)
            case .tooLarge: cache.memoryCapacity = 0
            }
        }.start()
        try isOver.wait()
    }

    // CACHE-23
    @Test func standardCapacities() {
        let standard = URLSessionConfiguration.ephemeral.urlCache
        #expect(standard?.memoryCapacity == 4_194_304)
        #expect(URLCache.standardDiskCapacity == 20_971_520)
    }

    private final class LoadingTask: URLSessionDataTask, @unchecked Sendable {
        var request: URLRequest?
        override var currentRequest: URLRequest? { request }
    }

    // CACHE-26
    @Test func taskVariants() async throws {
        let cache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0)
        let task = LoadingTask()
        #expect(await cache.cachedResponse(for: task) == nil)
        task.request = try request("a")
        let stored = try response("a", bytes: 3)
        cache.storeCachedResponse(stored, for: task)
        #expect(await cache.cachedResponse(for: task) === stored)
        #expect(cache.cachedResponse(for: try request("a")) === stored)
        cache.removeCachedResponse(for: task)
        #expect(await cache.cachedResponse(for: task) == nil)
    }

    // MISC-24
    @Test func cachedResponsesSurviveCoding() throws {
        let url = try #require(URL(string: "https://example.com/"))
        let http = try #require(
            HTTPURLResponse(url: url, statusCode: 203, httpVersion: "HTTP/1.1", headerFields: ["ETag": "x"]))
        let original = CachedURLResponse(
            response: http, data: Data([1, 2]), userInfo: ["k": "v"], storagePolicy: .allowedInMemoryOnly)
        #expect(CachedURLResponse(response: http, data: Data(), storagePolicy: .allowed).userInfo == nil)
        let data = try NSKeyedArchiver.archivedData(withRootObject: original, requiringSecureCoding: true)
        let object = try NSKeyedUnarchiver.unarchivedObject(ofClass: CachedURLResponse.self, from: data)
        let decoded = try #require(object)
        #expect(decoded == original)
        #expect(decoded.userInfo as? [String: String] == ["k": "v"])
        #expect((decoded.response as? HTTPURLResponse)?.statusCode == 203)
    }
}
