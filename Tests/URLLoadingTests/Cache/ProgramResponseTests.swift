import Foundation
import LoadingSemantics
import TestSupport
import Testing
import URLLoading

/// Responses that the program stores itself, or in place of loaded ones.
@Suite(.leavesNothing) struct ProgramResponseTests {
    private let configuration = URLSessionConfiguration.ephemeral
    private let server: ScriptedServer

    init() throws {
        let count = Watched(0)
        server = try ScriptedServer.answering { request in
            let number = count.withValue { count in
                count += 1
                return count
            }
            return .text("body \(number)").with(field: "Vary", "Accept-Encoding, Accept-Language, Cookie")
        }
    }

    private var cache: URLCache { get throws { try #require(configuration.urlCache) } }

    private func bodies(_ requests: URLRequest...) async throws -> [String] {
        let session = URLSession(configuration: configuration)
        defer { session.finishTasksAndInvalidate() }
        var bodies: [String] = []
        for request in requests {
            bodies.append(String(decoding: try await session.data(for: request).0, as: UTF8.self))
        }
        return bodies
    }

    private func response(_ fields: [String: String], _ text: String = "stored") throws -> CachedURLResponse {
        CachedURLResponse(
            response: try #require(
                HTTPURLResponse(url: server.url(), statusCode: 200, httpVersion: nil, headerFields: fields)),
            data: Data(text.utf8))
    }

    private static func language(_ language: String, _ request: URLRequest) -> URLRequest {
        request.with { $0.setValue(language, forHTTPHeaderField: "Accept-Language") }
    }

    // CACHE-8, CACHE-26: RFC 9111 §4.1. The request is known, and so are the fields that loads add.
    @Test(
        "a response with Vary that the program stores",
        arguments: [
            URLRequest.CachePolicy.useProtocolCachePolicy, .returnCacheDataElseLoad, .returnCacheDataDontLoad,
        ])
    func vary(policy: URLRequest.CachePolicy) async throws {
        defer { server.stop() }
        let fields = [
            "Cache-Control": "max-age=600", "Date": HTTPDate.text(Int64(Date().timeIntervalSince1970)),
            "Vary": "Accept-Encoding, Accept-Language, User-Agent",
        ]
        let plain = URLRequest(url: server.url(), cachePolicy: policy)
        try cache.storeCachedResponse(response(fields), for: plain)
        #expect(try await bodies(plain) == ["stored"])
        // One object for two requests.
        let both = try response(fields, "both")
        let german = Self.language("de", plain)
        let other = URLRequest(url: server.url("/other"), cachePolicy: policy)
        try cache.storeCachedResponse(both, for: german)
        try cache.storeCachedResponse(both, for: other)
        #expect(try cache.cachedResponse(for: german) === both)
        #expect(try await bodies(german, other) == ["both", "both"])
        #expect(server.requests.isEmpty)
    }

    // CACHE-26: RFC 9110 §6.6.1
    @Test("a response without Date that the program stores", arguments: [true, false])
    func withoutDate(onDisk: Bool) async throws {
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        configuration.urlCache = URLCache(
            memoryCapacity: onDisk ? 0 : 1 << 20, diskCapacity: onDisk ? 1 << 20 : 0, directory: directory.file("cache")
        )
        let (fresh, stale) = (URLRequest(url: server.url("/fresh")), URLRequest(url: server.url("/stale")))
        try cache.storeCachedResponse(response(["Cache-Control": "max-age=600"]), for: fresh)
        try cache.storeCachedResponse(response(["Cache-Control": "max-age=0"]), for: stale)
        #expect(try await bodies(fresh, stale) == ["stored", "body 1"])
        #expect(server.requests.map(\.path) == ["/stale"])
    }

    /// The subclass that stores responses whose server has not marked them.
    private final class Marking: URLCache, @unchecked Sendable {
        override func storeCachedResponse(_ cachedResponse: CachedURLResponse, for dataTask: URLSessionDataTask) {
            guard let response = cachedResponse.response as? HTTPURLResponse, let url = response.url,
                var fields = response.allHeaderFields as? [String: String]
            else { return }
            fields["Cache-Control"] = "max-age=600"
            guard
                let marked = HTTPURLResponse(
                    url: url, statusCode: response.statusCode, httpVersion: nil, headerFields: fields)
            else { return }
            super.storeCachedResponse(CachedURLResponse(response: marked, data: cachedResponse.data), for: dataTask)
        }
    }

    private final class Own: CachedURLResponse, @unchecked Sendable {}

    /// A subclass that stores objects of its own.
    private final class Replacing: URLCache, @unchecked Sendable {
        override func storeCachedResponse(_ cachedResponse: CachedURLResponse, for dataTask: URLSessionDataTask) {
            let own = Own(response: cachedResponse.response, data: cachedResponse.data)
            super.storeCachedResponse(own, for: dataTask)
        }
    }

    // CACHE-26
    @Test("the object of a subclass that is stored in place of the loaded one stays in memory")
    func object() async throws {
        defer { server.stop() }
        let cache = Replacing(memoryCapacity: 1 << 20, diskCapacity: 0, directory: nil)
        configuration.urlCache = cache
        let plain = URLRequest(url: server.url())
        _ = try await bodies(plain)
        #expect(cache.cachedResponse(for: plain) is Own)
    }

    // CACHE-26: RFC 9111 §4.1. It answers the same request as the loaded one, of which the task does not have all
    // fields.
    @Test("a response that a subclass stores in place of the loaded one")
    func replaced() async throws {
        defer { server.stop() }
        configuration.urlCache = Marking(memoryCapacity: 1 << 20, diskCapacity: 0, directory: nil)
        configuration.httpAdditionalHeaders = ["Accept-Language": "de"]
        let cookie = try #require(
            HTTPCookie(properties: [.name: "a", .value: "b", .path: "/", .originURL: server.url()]))
        configuration.httpCookieStorage?.setCookie(cookie)
        let plain = URLRequest(url: server.url())
        #expect(
            try await bodies(plain, plain, Self.language("en", plain), plain) == [
                "body 1", "body 1", "body 2", "body 3",
            ])
    }
}
