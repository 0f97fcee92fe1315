import Foundation
import TestSupport
import Testing
import URLLoading

/// Subclasses of `URLCache` that change nothing: sessions do with them what they do with a plain cache.
@Suite(.leavesNothing) struct CacheSubclassTests {
    private final class Unchanged: URLCache, @unchecked Sendable {}

    /// The bodies of a GET, a HEAD and a GET of one URL, and a field of the response that is stored then.
    private func bodies(of server: ScriptedServer, _ cache: URLCache) async throws -> [String] {
        defer { server.stop() }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = cache
        let session = URLSession(configuration: configuration)
        defer { session.finishTasksAndInvalidate() }
        let get = URLRequest(url: server.url("/")).with { $0.cookiePartitionIdentifier = "p" }
        var bodies: [String] = []
        for request in [get, get.with { $0.httpMethod = "HEAD" }, get] {
            bodies.append(String(decoding: try await session.data(for: request).0, as: UTF8.self))
        }
        let kept = cache.cachedResponse(for: get)?.response as? HTTPURLResponse
        bodies.append(kept?.value(forHTTPHeaderField: "X-News") ?? "no news")
        return bodies
    }

    /// Each removes responses while the loader calls it.
    private final class RemovingAtLookup: URLCache, @unchecked Sendable {
        override func getCachedResponse(
            for dataTask: URLSessionDataTask, completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
        ) {
            removeCachedResponse(for: dataTask)
            completionHandler(nil)
        }
    }

    private final class RemovingAtStore: URLCache, @unchecked Sendable {
        override func storeCachedResponse(_ response: CachedURLResponse, for dataTask: URLSessionDataTask) {
            removeAllCachedResponses()
            super.storeCachedResponse(response, for: dataTask)
        }
    }

    /// Allows each response to be stored, after it has removed the one before.
    private final class RemovingDelegate: NSObject, URLSessionDataDelegate, Sendable {
        let (ends, end) = AsyncStream.makeStream(of: Bool.self)

        func urlSession(
            _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposedResponse: CachedURLResponse,
            completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
        ) {
            session.configuration.urlCache?.removeAllCachedResponses()
            completionHandler(proposedResponse)
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            end.yield(error == nil)
        }
    }

    // CACHE-26: what is removed then is no reason against the response that is loaded
    @Test("a cache or a delegate that removes responses while it is asked", arguments: 0..<4)
    func removals(kind: Int) async throws {
        let server = try ScriptedServer.answering { _ in .text("body").with(field: "Cache-Control", "max-age=600") }
        defer { server.stop() }
        let cache =
            switch kind {
            case 0: RemovingAtLookup(memoryCapacity: 1 << 20, diskCapacity: 0, directory: nil)
            case 1: RemovingAtStore(memoryCapacity: 1 << 20, diskCapacity: 0, directory: nil)
            default: Self.cache(isPlain: kind == 2)
            }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = cache
        let delegate = RemovingDelegate()
        let session = URLSession(
            configuration: configuration, delegate: kind < 2 ? nil : delegate, delegateQueue: nil)
        // From the network both times.
        let get = URLRequest(url: server.url("/"), cachePolicy: .reloadIgnoringLocalCacheData)
        var ends = delegate.ends.makeAsyncIterator()
        for _ in 0..<2 {
            if kind < 2 {
                _ = try await session.data(for: URLRequest(url: server.url("/")))
            } else {
                session.dataTask(with: get).resume()
                #expect(await ends.next() == true)
            }
        }
        session.finishTasksAndInvalidate()
        #expect(cache.cachedResponse(for: get) != nil)
    }

    // CACHE-20, CACHE-26: the removal by the POST comes before the request that it leads to
    @Test("a POST that is redirected to its own URL", arguments: [true, false])
    func postRedirectGet(isPlain: Bool) async throws {
        let server = try ScriptedServer.answering { request in
            request.method == "POST"
                ? .redirect(to: request.path, status: 303) : .text("body").with(field: "Cache-Control", "max-age=600")
        }
        defer { server.stop() }
        let configuration = URLSessionConfiguration.ephemeral
        let cache = Self.cache(isPlain: isPlain)
        configuration.urlCache = cache
        let session = URLSession(configuration: configuration)
        let url = server.url("/")
        _ = try await session.data(for: URLRequest(url: url).with { $0.httpMethod = "POST" })
        session.finishTasksAndInvalidate()
        #expect(cache.cachedResponse(for: URLRequest(url: url)) != nil)
    }

    private static func cache(isPlain: Bool) -> URLCache {
        isPlain
            ? URLCache(memoryCapacity: 1 << 20, diskCapacity: 0, directory: nil)
            : Unchanged(memoryCapacity: 1 << 20, diskCapacity: 0, directory: nil)
    }

    // CACHE-20, CACHE-26: RFC 9111 §4.3.5
    @Test(
        "a HEAD response updates, outdates or removes the stored response to GET",
        arguments: [
            ("ETag", "\"v1\"", ["GET", "HEAD"], ["body", "", "body", "HEAD"]),
            ("ETag", "\"v2\"", ["GET", "HEAD", "GET"], ["body", "", "body", "GET"]),
            ("Cache-Control", "no-store", ["GET", "HEAD", "GET"], ["body", "", "body", "GET"]),
        ] as [(String, String, [String], [String])], [true, false])
    func head(_ row: (String, String, [String], [String]), isPlain: Bool) async throws {
        let (name, value, methods, expected) = row
        let server = try ScriptedServer.answering { request in
            let fields = ["ETag": "\"v1\"", "Cache-Control": "max-age=600", "X-News": request.method]
                .merging(request.method == "HEAD" ? [name: value] : [:]) { $1 }
            return fields.reduce(.text("body")) { $0.with(field: $1.key, $1.value) }
        }
        #expect(try await bodies(of: server, Self.cache(isPlain: isPlain)) == expected)
        #expect(server.requests.map(\.method) == methods)
    }
}
