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
