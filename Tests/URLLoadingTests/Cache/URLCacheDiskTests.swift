import Foundation
import TestSupport
import Testing

@testable import URLLoading

/// The disk tier of the cache.
@Suite(.leavesNothing) struct URLCacheDiskTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func cache(memory: Int = 1 << 20, disk: Int = 1 << 20) -> URLCache {
        URLCache(memoryCapacity: memory, diskCapacity: disk, directory: directory.file("cache"))
    }

    private func request(_ path: String = "/") throws -> URLRequest {
        URLRequest(url: try #require(URL(string: "https://example.org" + path)))
    }

    private func response(
        _ body: String, userInfo: [AnyHashable: Any]? = nil, policy: URLCache.StoragePolicy = .allowed
    ) throws -> CachedURLResponse {
        let url = try #require(request().url)
        return CachedURLResponse(
            response: try #require(
                HTTPURLResponse(
                    url: url, statusCode: 203, httpVersion: "HTTP/1.1", headerFields: ["X-Field": "\(body.count)"])),
            data: Data(body.utf8), userInfo: userInfo, storagePolicy: policy)
    }

    /// The files of bodies.
    private var bodies: [String] {
        let folder = directory.path + "/cache/url-loading-responses"
        return (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    }

    // CACHE-24, CACHE-30
    @Test("a new cache over the same folder has the stored responses", arguments: [10, 100_000])
    func reopened(size: Int) throws {
        let body = String(repeating: "x", count: size)
        let old = cache(disk: 10 << 20)
        old.storeCachedResponse(try response(body, userInfo: ["key": ["a", "b"]]), for: try request())
        #expect(old.currentDiskUsage > size)
        let new = cache(disk: 10 << 20)
        let found = try #require(new.cachedResponse(for: request()))
        #expect(found.data == Data(body.utf8))
        let shown = try #require(found.response as? HTTPURLResponse)
        #expect(shown.statusCode == 203 && shown.value(forHTTPHeaderField: "X-Field") == "\(size)")
        #expect(found.userInfo?["key"] as? [String] == ["a", "b"])
        #expect(bodies.count == (size > 16384 ? 1 : 0))
        // From now on it is in memory.
        #expect(new.currentMemoryUsage > size)
        #expect(new.cachedResponse(for: try request()) === found)
    }

    // CACHE-30
    @Test("responses for URLs with user information are separated by user, and no password is written")
    func passwordsInAddresses() async throws {
        let old = cache()
        func request(_ user: String) throws -> URLRequest {
            URLRequest(url: try #require(URL(string: "own://\(user):treasure@example.org/a")))
        }
        for user in ["one", "two"] {
            let response = URLResponse(
                url: try #require(request(user).url), mimeType: "text/plain", expectedContentLength: 3,
                textEncodingName: nil)
            old.storeCachedResponse(
                CachedURLResponse(response: response, data: Data(user.utf8)), for: try request(user))
        }
        await withCheckedContinuation { continuation in old.flush { continuation.resume() } }
        let new = cache()
        for user in ["one", "two"] {
            #expect(new.cachedResponse(for: try request(user))?.data == Data(user.utf8))
        }
        let folder = directory.path + "/cache"
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
            let content = FileManager.default.contents(atPath: folder + "/" + name)
            #expect(content?.range(of: Data("treasure".utf8)) == nil, "\(name)")
        }
    }

    // CACHE-22
    @Test("allowedInMemoryOnly removes the response on disk")
    func policies() throws {
        let old = cache()
        old.storeCachedResponse(try response("first"), for: try request())
        #expect(old.currentDiskUsage > 0)
        old.storeCachedResponse(try response("second", policy: .allowedInMemoryOnly), for: try request())
        #expect(old.currentDiskUsage == 0)
        #expect(old.cachedResponse(for: try request())?.data == Data("second".utf8))
        #expect(cache().cachedResponse(for: try request()) == nil)
        old.storeCachedResponse(try response("third", policy: .notAllowed), for: try request())
        #expect(old.cachedResponse(for: try request())?.data == Data("second".utf8))
    }

    // CACHE-24, CACHE-26, CACHE-28
    @Test("removal affects both tiers")
    func removed() throws {
        let cache = cache()
        for path in ["/a", "/b", "/c"] { cache.storeCachedResponse(try response(path), for: try request(path)) }
        cache.removeCachedResponse(for: try request("/a"))
        #expect(cache.cachedResponse(for: try request("/a")) == nil)
        #expect(self.cache().cachedResponse(for: try request("/a")) == nil)
        #expect(self.cache().cachedResponse(for: try request("/b")) != nil)
        let before = Date()
        cache.storeCachedResponse(try response("/d"), for: try request("/d"))
        cache.removeCachedResponses(since: before)
        #expect(cache.cachedResponse(for: try request("/d")) == nil)
        #expect(self.cache().cachedResponse(for: try request("/d")) == nil)
        #expect(self.cache().cachedResponse(for: try request("/c")) != nil)
        cache.removeAllCachedResponses()
        #expect(cache.currentDiskUsage == 0)
        #expect(self.cache().cachedResponse(for: try request("/c")) == nil)
    }

    // CACHE-24
    @Test("a lower capacity evicts least recently used responses at once")
    func capacity() throws {
        let cache = cache(memory: 0, disk: 1 << 20)
        let body = String(repeating: "x", count: 50_000)
        for path in ["/a", "/b", "/c"] { cache.storeCachedResponse(try response(body), for: try request(path)) }
        #expect(cache.cachedResponse(for: try request("/a")) != nil)
        #expect(cache.currentDiskUsage > 150_000)
        cache.diskCapacity = 120_000
        #expect(cache.diskCapacity == 120_000)
        #expect(cache.currentDiskUsage <= 120_000)
        #expect(
            try ["/a", "/b", "/c"].map { cache.cachedResponse(for: try request($0)) != nil } == [true, false, true])
        cache.diskCapacity = 0
        #expect(cache.cachedResponse(for: try request("/a")) == nil)
        #expect(bodies == [])
    }

    // CACHE-24: 0 disables a tier
    @Test("without room on disk nothing is written")
    func memoryOnly() throws {
        let cache = cache(disk: 0)
        cache.storeCachedResponse(try response("body"), for: try request())
        #expect(cache.cachedResponse(for: try request()) != nil)
        #expect(cache.currentDiskUsage == 0)
        #expect(!FileManager.default.fileExists(atPath: directory.path + "/cache"))
    }

    // CACHE-1: what a protocol of the program's has loaded is no response of HTTP
    @Test("a response that is not HTTP's lasts too")
    func foreign() throws {
        let url = try #require(URL(string: "custom:thing"))
        let old = cache()
        old.storeCachedResponse(
            CachedURLResponse(
                response: URLResponse(
                    url: url, mimeType: "text/x", expectedContentLength: 17, textEncodingName: "utf-8"),
                data: Data("abc".utf8)), for: URLRequest(url: url))
        #expect(old.currentDiskUsage > 0)
        let found = try #require(cache().cachedResponse(for: URLRequest(url: url)))
        #expect(type(of: found.response) == URLResponse.self)
        #expect(found.response.mimeType == "text/x" && found.response.textEncodingName == "utf-8")
        #expect(found.response.expectedContentLength == 17 && found.data == Data("abc".utf8))
    }

    // CACHE-14, CACHE-17: the fields of a 304 are kept on disk as well
    @Test("sessions over one folder: served from disk, confirmed, and refreshed")
    func sessions() async throws {
        let server = try ScriptedServer.answering { request in
            if request["If-None-Match"] == "\"v\"" {
                return CannedResponse.status(304).with(field: "Cache-Control", "max-age=3600")
            }
            return CannedResponse.text("body").with(field: "ETag", "\"v\"")
                .with(field: "Cache-Control", request.path == "/fresh" ? "max-age=3600" : "max-age=0")
        }
        defer { server.stop() }
        func load(_ path: String) async throws -> [URLSessionTaskMetrics.ResourceFetchType] {
            let recorder = RecordingDelegate()
            let session = URLSession(recorder) { $0.urlCache = cache() }
            defer { session.finishTasksAndInvalidate() }
            let (data, response) = try await session.data(from: server.url(path))
            #expect(String(decoding: data, as: UTF8.self) == "body")
            #expect((response as? HTTPURLResponse)?.statusCode == 200)
            await withCheckedContinuation { continuation in session.flush { continuation.resume() } }
            return try #require(recorder.metrics.events.last).transactionMetrics.map(\.resourceFetchType)
        }
        #expect(try await load("/fresh") == [.networkLoad])
        #expect(try await load("/fresh") == [.localCache])
        #expect(try await load("/stale") == [.networkLoad])
        #expect(try await load("/stale") == [.networkLoad, .localCache])
        // The 304 has made it fresh.
        #expect(try await load("/stale") == [.localCache])
        #expect(server.requests.count == 3)
    }

    // CACHE-19
    @Test("a change of the resource takes it from the disk")
    func invalidated() async throws {
        let count = Watched(0)
        let server = try ScriptedServer.answering { _ in
            CannedResponse.text(
                "\(count.withValue { $0 += 1; return $0 })"
            ).with(field: "Cache-Control", "max-age=3600")
        }
        defer { server.stop() }
        func load(_ method: String) async throws -> String {
            let session = URLSession { $0.urlCache = cache() }
            defer { session.finishTasksAndInvalidate() }
            var request = URLRequest(url: server.url("/"))
            request.httpMethod = method
            let (data, _) = try await session.data(for: request)
            await withCheckedContinuation { continuation in session.flush { continuation.resume() } }
            return String(decoding: data, as: UTF8.self)
        }
        #expect(
            try await [load("GET"), load("GET"), load("POST"), load("GET"), load("GET")] == ["1", "1", "2", "3", "3"])
    }

    // CACHE-25
    @Test("a damaged index is as good as an empty one")
    func damaged() async throws {
        try {
            let old = self.cache()
            old.storeCachedResponse(try response("body"), for: try request())
            #expect(old.currentDiskUsage > 0)
        }()
        // The thread of a cache that is gone closes its files.
        try await eventually { openFiles().isEmpty }
        for name in try FileManager.default.contentsOfDirectory(atPath: directory.path + "/cache")
        where name.hasPrefix("url-loading-responses.sqlite") {
            try Data(repeating: 0x5A, count: 5000).write(to: directory.file("cache/" + name))
        }
        let cache = cache()
        #expect(cache.cachedResponse(for: try request()) == nil)
        cache.storeCachedResponse(try response("new"), for: try request())
        #expect(cache.currentDiskUsage > 0)
        #expect(self.cache().cachedResponse(for: try request())?.data == Data("new".utf8))
    }

    /// The files of the folder that this process has open.
    private func openFiles() -> [String] {
        let numbers = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return numbers.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + $0) }
            .filter { $0.hasPrefix(directory.path) }
    }
}
