import Foundation
import LoadingSemantics
import TestSupport
import Testing
import URLLoading

/// A GET whose response arrives after the stored response of its URL was replaced or removed.
@Suite(.leavesNothing) struct OverlappingLoadTests {
    enum Kind: CaseIterable {
        case memory, disk, both, subclass
    }

    private final class Unchanged: URLCache, @unchecked Sendable {}

    private let directory: TemporaryDirectory
    private let arrived = Signal("the first request")
    private let release = Signal("the first response")
    private let server: ScriptedServer

    /// The server answers each request with its number. It holds the first response, which is the oldest by its date.
    init() throws {
        directory = try TemporaryDirectory()
        let count = Watched(0)
        server = try ScriptedServer { [arrived, release] connection in
            do {
                while try connection.nextRequest() != nil {
                    let number = count.withValue { count in
                        count += 1
                        return count
                    }
                    let date = HTTPDate.text(Int64(Date().timeIntervalSince1970) - (number == 1 ? 30 : 0))
                    if number == 1 {
                        arrived.fire()
                        try connection.wait(for: release)
                    }
                    let body = "body \(number)"
                    try connection.send(
                        "HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\nCache-Control: max-age=3600\r\n"
                            + "Date: \(date)\r\n\r\n\(body)")
                }
            } catch  where connection.record.end != nil {
                return
            }
        }
    }

    private func cache(_ kind: Kind) -> URLCache {
        let (memory, disk) = (kind == .disk ? 0 : 8 << 20, kind == .disk || kind == .both ? 8 << 20 : 0)
        let folder = directory.file("cache")
        return kind == .subclass
            ? Unchanged(memoryCapacity: memory, diskCapacity: disk, directory: folder)
            : URLCache(memoryCapacity: memory, diskCapacity: disk, directory: folder)
    }

    /// The bodies of two GETs, after a GET with that policy during which something was done.
    private func bodies(
        _ cache: URLCache, _ policy: URLRequest.CachePolicy = .useProtocolCachePolicy,
        while change: (URLSession, URLRequest) async throws -> Void
    ) async throws -> [String] {
        defer { server.stop() }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = cache
        let session = URLSession(configuration: configuration)
        defer { session.finishTasksAndInvalidate() }
        let get = URLRequest(url: server.url())
        let first = Task { try await session.data(for: get.with { $0.cachePolicy = policy }).0 }
        try await arrived.wait()
        try await change(session, get)
        release.fire()
        #expect(try await first.value == Data("body 1".utf8))
        var bodies: [String] = []
        for _ in 0..<2 { bodies.append(String(decoding: try await session.data(for: get).0, as: UTF8.self)) }
        await session.flush()
        return bodies
    }

    // CACHE-10, CACHE-25: RFC 9111 §4, the more recent response by its date
    @Test("an older response does not replace a newer one", arguments: Kind.allCases)
    func olderResponse(kind: Kind) async throws {
        let bodies = try await bodies(cache(kind)) { session, get in
            _ = try await session.data(for: get.with { $0.cachePolicy = .reloadIgnoringLocalCacheData })
        }
        #expect(bodies == ["body 2", "body 2"])
    }

    // CACHE-19, CACHE-25: RFC 9111 §4.4. The response may have been made before.
    @Test("a response to a GET that was sent before a POST ended is not stored", arguments: Kind.allCases)
    func invalidation(kind: Kind) async throws {
        let bodies = try await bodies(cache(kind)) { session, get in
            _ = try await session.data(for: get.with { $0.httpMethod = "POST" })
        }
        #expect(bodies == ["body 3", "body 3"])
    }

    /// Decides about each response only after the signal.
    private final class LateDelegate: NSObject, URLSessionDataDelegate, Sendable {
        let asked = Signal("the question of the delegate")
        let answer = Signal("the answer of the delegate")
        let ended = Signal("the end of the task")
        let keeps: Bool

        init(keeps: Bool = true) { self.keeps = keeps }

        func urlSession(
            _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposedResponse: CachedURLResponse
        ) async -> CachedURLResponse? {
            asked.fire()
            try? await answer.wait()
            return keeps ? proposedResponse : nil
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            ended.fire()
        }
    }

    /// What the cache has after a GET with that policy. While the delegate was asked, something was done, maybe with
    /// another session, which loads what is stored again.
    private func stored(
        _ cache: URLCache, _ delegate: LateDelegate, _ policy: URLRequest.CachePolicy,
        whileAsked change: (URLSession, URLRequest) async throws -> Void
    ) async throws -> String? {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = cache
        configuration.requestCachePolicy = policy
        let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        let otherSession = URLSession(configuration: configuration)
        defer {
            session.finishTasksAndInvalidate()
            otherSession.finishTasksAndInvalidate()
            server.stop()
        }
        release.fire()
        let get = URLRequest(url: server.url())
        session.dataTask(with: get).resume()
        try await delegate.asked.wait()
        try await change(otherSession, get)
        delegate.answer.fire()
        try await delegate.ended.wait()
        let stored = cache.cachedResponse(for: get)?.data
        await session.flush()
        return stored.map { String(decoding: $0, as: UTF8.self) }
    }

    // CACHE-5, CACHE-19, CACHE-25: RFC 9111 §4, §4.4. A GET by another session brings a more recent response.
    @Test(
        "what another load does while the delegate is asked", arguments: Kind.allCases,
        [("POST", nil), ("GET", "body 2")] as [(String, String?)])
    func changeWhileTheDelegateIsAsked(kind: Kind, other: (String, String?)) async throws {
        let (method, expected) = other
        let stored = try await stored(cache(kind), LateDelegate(), .useProtocolCachePolicy) { session, get in
            _ = try await session.data(for: get.with { $0.httpMethod = method })
        }
        #expect(stored == expected)
    }

    // CACHE-5, CACHE-25: another session stores the response of a later request, or the program one of its own
    @Test("a delegate that keeps nothing removes only what is older", arguments: Kind.allCases, [true, false])
    func nothingKept(kind: Kind, isLoaded: Bool) async throws {
        let cache = cache(kind)
        let delegate = LateDelegate(keeps: false)
        // With this policy, nothing is known of what the cache holds.
        let stored = try await stored(cache, delegate, .reloadIgnoringLocalCacheData) { session, get in
            if isLoaded {
                _ = try await session.data(for: get)
            } else {
                let response = try #require(
                    HTTPURLResponse(url: server.url(), statusCode: 200, httpVersion: nil, headerFields: nil))
                cache.storeCachedResponse(CachedURLResponse(response: response, data: Data("own".utf8)), for: get)
            }
        }
        #expect(stored == (isLoaded ? "body 2" : "own"))
    }

    // CACHE-25, CACHE-28
    @Test("nor one that was loaded while the program removed the stored one", arguments: Kind.allCases, [true, false])
    func removal(kind: Kind, ofAll: Bool) async throws {
        let cache = cache(kind)
        let bodies = try await bodies(cache) { _, get in
            if ofAll { cache.removeAllCachedResponses() } else { cache.removeCachedResponse(for: get) }
        }
        #expect(bodies == ["body 2", "body 2"])
    }

    // CACHE-25, CACHE-28: a response that is not stored because of a removal is newer than what has survived the
    // removal
    @Test("what a removal has left does not outlive a newer response", arguments: Kind.allCases)
    func survivor(kind: Kind) async throws {
        let cache = cache(kind)
        let response = try #require(
            HTTPURLResponse(
                url: server.url(), statusCode: 200, httpVersion: nil, headerFields: ["Cache-Control": "max-age=3600"]))
        cache.storeCachedResponse(
            CachedURLResponse(response: response, data: Data("own".utf8)), for: URLRequest(url: server.url()))
        let bodies = try await bodies(cache, .reloadIgnoringLocalCacheData) { _, _ in
            cache.removeCachedResponses(since: Date() + 60)
        }
        #expect(bodies == ["body 2", "body 2"])
    }

    // CACHE-26: what the program stores stays.
    @Test("a response that the program stores meanwhile", arguments: Kind.allCases)
    func programsResponse(kind: Kind) async throws {
        let cache = cache(kind)
        let fields = ["Date": HTTPDate.text(Int64(Date().timeIntervalSince1970)), "Cache-Control": "max-age=3600"]
        let response = try #require(
            HTTPURLResponse(url: server.url(), statusCode: 200, httpVersion: nil, headerFields: fields))
        let bodies = try await bodies(cache) { _, get in
            cache.storeCachedResponse(CachedURLResponse(response: response, data: Data("own".utf8)), for: get)
        }
        #expect(bodies == ["own", "own"])
    }

    // CACHE-26
    @Test("a response that must not be stored leaves what the program stores meanwhile", arguments: Kind.allCases)
    func unstoredResponse(kind: Kind) async throws {
        let other = try ScriptedServer { [arrived, release] connection in
            _ = try connection.nextRequest()
            arrived.fire()
            try connection.wait(for: release)
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\nCache-Control: no-store\r\n\r\nbody")
        }
        defer {
            other.stop()
            server.stop()
        }
        let cache = cache(kind)
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = cache
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        let session = URLSession(configuration: configuration)
        defer { session.finishTasksAndInvalidate() }
        let get = URLRequest(url: other.url())
        let load = Task { try await session.data(for: get).0 }
        try await arrived.wait()
        let response = try #require(
            HTTPURLResponse(
                url: other.url(), statusCode: 200, httpVersion: nil, headerFields: ["Cache-Control": "max-age=3600"]))
        cache.storeCachedResponse(CachedURLResponse(response: response, data: Data("own".utf8)), for: get)
        release.fire()
        #expect(try await load.value == Data("body".utf8))
        await session.flush()
        #expect(cache.cachedResponse(for: get)?.data == Data("own".utf8))
    }

    // CACHE-10: a later response replaces the stored one, also with an earlier date, as from another server of a group.
    @Test("a response to a later request", arguments: Kind.allCases)
    func laterRequest(kind: Kind) async throws {
        let cache = cache(kind)
        let fields = [
            "Date": HTTPDate.text(Int64(Date().timeIntervalSince1970) + 1), "Cache-Control": "max-age=3600",
        ]
        let response = try #require(
            HTTPURLResponse(url: server.url(), statusCode: 200, httpVersion: nil, headerFields: fields))
        cache.storeCachedResponse(
            CachedURLResponse(response: response, data: Data("own".utf8)), for: URLRequest(url: server.url()))
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = cache
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        let session = URLSession(configuration: configuration)
        defer {
            session.finishTasksAndInvalidate()
            server.stop()
        }
        release.fire()
        _ = try await session.data(from: server.url())
        await session.flush()
        #expect(cache.cachedResponse(for: URLRequest(url: server.url()))?.data == Data("body 1".utf8))
    }
}
