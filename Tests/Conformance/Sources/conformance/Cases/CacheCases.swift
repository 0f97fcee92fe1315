import Foundation
import FoundationNetworking

private func date(_ seconds: Double) -> String {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(secondsFromGMT: 0)
    formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
    return formatter.string(from: Date(timeIntervalSinceNow: seconds))
}

/// Each answer has the number of its request as its body.
private func numbered(_ fields: [(String, String)]) throws -> Server {
    let count = Locked(0)
    return try Server { _ in
        let number = count.withLock { count in
            count += 1
            return count
        }
        return Response(200, [("Date", date(0))] + fields, "\(number)")
    }
}

/// A session with a cache in memory that holds small bodies for certain.
private func cachingSession(_ delegate: (any URLSessionDelegate)? = nil) -> (session: URLSession, cache: URLCache) {
    let cache = makeCache()
    return (makeSession(delegate) { $0.urlCache = cache }, cache)
}

private func policy(_ url: URL, _ policy: URLRequest.CachePolicy) -> URLRequest {
    var request = URLRequest(url: url)
    request.cachePolicy = policy
    return request
}

/// The body of a second load with a policy, after a first one by default.
private func second(_ fields: [(String, String)], _ cachePolicy: URLRequest.CachePolicy = .useProtocolCachePolicy)
    async throws -> String
{
    let server = try numbered(fields)
    let (session, _) = cachingSession()
    _ = await session.load(server.url())
    await quiet(100)
    return await session.load(policy(server.url(), cachePolicy)).summary
}

/// Answers a conditional request with 304.
private func validating(_ validator: (String, String), _ condition: String, _ fields: [(String, String)] = []) throws
    -> Server
{
    try Server { request in
        request.value(condition) == validator.1
            ? Response(304, [validator]) : Response(200, [validator, ("Date", date(0))] + fields, "body")
    }
}

private func isStored(_ fields: [(String, String)], status: Int = 200, method: String = "GET") async throws -> Bool {
    let server = try Server(Response(status, [("Date", date(0))] + fields, "body"))
    let (session, cache) = cachingSession()
    _ = await session.load(request(server.url(), method))
    await quiet(100)
    return cache.cachedResponse(for: URLRequest(url: server.url())) != nil
}

private func cached(_ url: URL, _ body: String = "body") throws -> CachedURLResponse {
    let response = try unwrap(
        HTTPURLResponse(
            url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: ["Cache-Control": "max-age=600"]),
        "response")
    return CachedURLResponse(response: response, data: Data(body.utf8))
}

let cacheCases: [Case] = [
    Case("CACHE-7", name: "a fresh response is served from the cache") {
        try equal(try await second([("Cache-Control", "max-age=600")]), "200 1", "second load")
    },
    Case("CACHE-7", "CACHE-17", name: "a fresh response by Expires is served from the cache") {
        try equal(try await second([("Expires", date(600))]), "200 1", "second load")
    },
    Case("CACHE-7", name: "max-age=0 goes to the network") {
        try equal(try await second([("Cache-Control", "max-age=0")]), "200 2", "second load")
    },
    Case("CACHE-7", name: "no-cache goes to the network") {
        try equal(try await second([("Cache-Control", "no-cache, max-age=600")]), "200 2", "second load")
    },
    Case("CACHE-7", name: "public or private alone goes to the network") {
        for value in ["public", "private"] {
            try equal(try await second([("Cache-Control", value)]), "200 2", "second load with \(value)")
        }
    },
    Case("CACHE-17", name: "a response past its Expires goes to the network") {
        try equal(try await second([("Expires", date(-60))]), "200 2", "second load")
    },
    Case("CACHE-17", name: "max-age wins over Expires") {
        try equal(try await second([("Cache-Control", "max-age=0"), ("Expires", date(600))]), "200 2", "max-age=0")
        try equal(try await second([("Cache-Control", "max-age=600"), ("Expires", date(-60))]), "200 1", "max-age=600")
    },
    Case("CACHE-17", name: "Age counts") {
        try equal(try await second([("Cache-Control", "max-age=600"), ("Age", "1000")]), "200 2", "second load")
    },
    Case("CACHE-17", name: "s-maxage is for shared caches only") {
        try equal(try await second([("Cache-Control", "max-age=600, s-maxage=0")]), "200 1", "second load")
    },
    Case("CACHE-6", name: "public, private, max-age and no-cache are stored") {
        for value in ["public", "private", "max-age=3600", "max-age=0", "no-cache"] {
            try check(try await isStored([("Cache-Control", value)]), "not stored: \(value)")
        }
    },
    Case("CACHE-6", name: "no-store is not stored") {
        try check(try await !isStored([("Cache-Control", "no-store, max-age=600")]), "stored")
    },
    Case("CACHE-3", name: "404 and 500 are not stored") {
        for status in [404, 500] {
            try check(try await !isStored([("Cache-Control", "max-age=600")], status: status), "stored: \(status)")
        }
    },
    Case("CACHE-19", name: "the response to a POST is not stored") {
        try check(try await !isStored([("Cache-Control", "max-age=600")], method: "POST"), "stored")
    },
    Case("CACHE-19", name: "a POST removes what is stored for its URL") {
        let server = try numbered([("Cache-Control", "max-age=600")])
        let (session, _) = cachingSession()
        _ = await session.load(server.url())
        await quiet(100)
        _ = await session.load(request(server.url(), "POST", body: "a"))
        await quiet(100)
        try equal(await session.load(server.url()).summary, "200 3", "load after it")
    },
    Case("CACHE-3", name: "a response above 5 % of the capacity is not stored") {
        let server = try Server(
            Response(200, [("Cache-Control", "max-age=600")], String(repeating: "a", count: 50_000)))
        let cache = makeCache(memory: 100_000, disk: 0)
        _ = await makeSession { $0.urlCache = cache }.load(server.url())
        await quiet(100)
        try check(cache.cachedResponse(for: URLRequest(url: server.url())) == nil, "stored")
    },
    Case("CACHE-8", name: "returnCacheDataElseLoad serves what is stale") {
        for value in ["max-age=0", "no-cache", "public"] {
            try equal(
                try await second([("Cache-Control", value)], .returnCacheDataElseLoad), "200 1",
                "second load with \(value)")
        }
    },
    Case("CACHE-8", name: "returnCacheDataElseLoad loads what is not stored") {
        let server = try numbered([])
        let (session, _) = cachingSession()
        try equal(await session.load(policy(server.url(), .returnCacheDataElseLoad)).summary, "200 1", "load")
    },
    Case("CACHE-8", name: "returnCacheDataDontLoad serves what is stale") {
        try equal(try await second([("Cache-Control", "max-age=0")], .returnCacheDataDontLoad), "200 1", "second load")
    },
    Case("CACHE-9", name: "returnCacheDataDontLoad fails without asking the server") {
        let server = try numbered([])
        let (session, _) = cachingSession()
        let outcome = await session.load(policy(server.url(), .returnCacheDataDontLoad))
        try check(outcome.error != nil, "no error: \(outcome.summary)")
        try check(outcome.response == nil, "a response")
        try equal(server.connectionCount, 0, "connections")
    },
    Case("CACHE-10", name: "reloadIgnoringLocalCacheData goes to the network") {
        let answer = try await second([("Cache-Control", "max-age=600")], .reloadIgnoringLocalCacheData)
        try equal(answer, "200 2", "second load")
    },
    Case("CACHE-11", name: "reloadIgnoringLocalAndRemoteCacheData goes to the network") {
        let answer = try await second([("Cache-Control", "max-age=600")], .reloadIgnoringLocalAndRemoteCacheData)
        try equal(answer, "200 2", "second load")
    },
    Case("CACHE-12", name: "reloadRevalidatingCacheData validates what is fresh") {
        let server = try validating(("ETag", "\"v1\""), "If-None-Match", [("Cache-Control", "max-age=600")])
        let (session, _) = cachingSession()
        _ = await session.load(server.url())
        await quiet(100)
        let outcome = await session.load(policy(server.url(), .reloadRevalidatingCacheData))
        try equal(outcome.summary, "200 body", "second load")
        try equal(server.requests.map { $0.value("If-None-Match") }, [nil, "\"v1\""], "If-None-Match")
    },
    Case(
        "CACHE-13", "CACHE-14", "CACHE-16",
        name: "an ETag is validated by a GET, and a 304 serves the stored body with 200"
    ) {
        let server = try validating(("ETag", "\"v1\""), "If-None-Match")
        let (session, _) = cachingSession()
        _ = await session.load(server.url())
        await quiet(100)
        try equal(await session.load(server.url()).summary, "200 body", "second load")
        try equal(server.lines, ["GET /", "GET /"], "requests")
        try equal(server.requests.last?.value("If-None-Match"), "\"v1\"", "If-None-Match")
    },
    Case("CACHE-13", name: "Last-Modified is validated with If-Modified-Since") {
        let modified = date(-3600)
        let server = try validating(("Last-Modified", modified), "If-Modified-Since", [("Cache-Control", "max-age=0")])
        let (session, _) = cachingSession()
        _ = await session.load(server.url())
        await quiet(100)
        try equal(await session.load(server.url()).summary, "200 body", "second load")
        try equal(server.requests.last?.value("If-Modified-Since"), modified, "If-Modified-Since")
    },
    Case("CACHE-14", name: "a 304 renews the stored response") {
        let server = try Server { request in
            request.value("If-None-Match") != nil
                ? Response(304, [("ETag", "\"v1\""), ("Cache-Control", "max-age=600"), ("X-New", "a")])
                : Response(200, [("ETag", "\"v1\""), ("Cache-Control", "max-age=0")], "body")
        }
        let (session, _) = cachingSession()
        for _ in 0..<2 {
            _ = await session.load(server.url())
            await quiet(100)
        }
        let third = await session.load(server.url())
        try equal(third.summary, "200 body", "third load")
        try equal(third.http?.value(forHTTPHeaderField: "X-New"), "a", "field of the 304")
        try equal(server.requests.count, 2, "requests")
    },
    Case("CACHE-14", name: "a changed resource replaces the stored one") {
        let count = Locked(0)
        let server = try Server { _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            return Response(200, [("ETag", "\"v\(number)\""), ("Cache-Control", "max-age=0")], "\(number)")
        }
        let (session, _) = cachingSession()
        _ = await session.load(server.url())
        await quiet(100)
        try equal(await session.load(server.url()).summary, "200 2", "second load")
        await quiet(100)
        try equal(await session.load(policy(server.url(), .returnCacheDataDontLoad)).summary, "200 2", "stored")
    },
    Case("CACHE-15", name: "the application's own If-None-Match gets its 304") {
        let server = try validating(("ETag", "\"v1\""), "If-None-Match")
        let outcome = await makeSession().load(request(server.url(), "GET", ["If-None-Match": "\"v1\""]))
        try equal(outcome.status, 304, "status")
    },
    Case("CACHE-18", name: "Vary: a request with other fields goes to the network") {
        let server = try numbered([("Cache-Control", "max-age=600"), ("Vary", "X-Kind")])
        let (session, _) = cachingSession()
        _ = await session.load(request(server.url(), "GET", ["X-Kind": "a"]))
        await quiet(100)
        try equal(await session.load(request(server.url(), "GET", ["X-Kind": "a"])).summary, "200 1", "the same field")
        try equal(await session.load(request(server.url(), "GET", ["X-Kind": "b"])).summary, "200 2", "another field")
    },
    Case("CACHE-18", name: "Vary: Accept-Encoding does not prevent reuse") {
        try equal(
            try await second([("Cache-Control", "max-age=600"), ("Vary", "Accept-Encoding")]), "200 1", "second load")
    },
    Case("CACHE-17", name: "directives have no case, and may be quoted") {
        try equal(try await second([("Cache-Control", "Public, MAX-AGE=\"600\"")]), "200 1", "second load")
    },
    Case("CACHE-17", name: "a request with Cache-Control: no-cache goes to the network") {
        let server = try numbered([("Cache-Control", "max-age=600")])
        let (session, _) = cachingSession()
        _ = await session.load(server.url())
        await quiet(100)
        let again = request(server.url(), "GET", ["Cache-Control": "no-cache"])
        try equal(await session.load(again).summary, "200 2", "second load")
    },
    Case("CACHE-26", name: "a response that the program has stored is served") {
        let server = try numbered([])
        let (session, cache) = cachingSession()
        cache.storeCachedResponse(try cached(server.url(), "stored"), for: URLRequest(url: server.url()))
        let outcome = await session.load(policy(server.url(), .returnCacheDataElseLoad))
        try equal(outcome.summary, "200 stored", "load")
        try equal(server.requests.count, 0, "requests")
    },
    Case("CACHE-13", name: "a weak ETag is validated") {
        let server = try validating(("ETag", "W/\"v1\""), "If-None-Match")
        let (session, _) = cachingSession()
        _ = await session.load(server.url())
        await quiet(100)
        try equal(await session.load(server.url()).summary, "200 body", "second load")
        try equal(server.requests.last?.value("If-None-Match"), "W/\"v1\"", "If-None-Match")
    },
    Case("CACHE-18", name: "Vary: * is never served") {
        try equal(try await second([("Cache-Control", "max-age=600"), ("Vary", "*")]), "200 2", "second load")
    },
    Case("CACHE-20", name: "a request with Range is not served a stored whole") {
        let server = try numbered([("Cache-Control", "max-age=600")])
        let (session, _) = cachingSession()
        _ = await session.load(server.url())
        await quiet(100)
        // A part may come from the cache, as 206.
        let summary = await session.load(request(server.url(), "GET", ["Range": "bytes=0-0"])).summary
        try check(summary != "200 1", "the stored response was served")
    },
    Case("CACHE-20", name: "206 is not stored") {
        let fields = [("Cache-Control", "max-age=600"), ("Content-Range", "bytes 0-3/10")]
        try check(try await !isStored(fields, status: 206), "stored")
    },
    Case("CACHE-21", name: "a response to a request with Authorization is stored") {
        let server = try numbered([("Cache-Control", "max-age=600")])
        let (session, _) = cachingSession()
        let request = request(server.url(), "GET", ["Authorization": "Bearer a"])
        _ = await session.load(request)
        await quiet(100)
        try equal(await session.load(request).summary, "200 1", "second load")
    },
    Case("CACHE-26", name: "the loader asks a subclass of URLCache about the task") {
        let calls = Locked<[String]>([])
        final class Own: URLCache, @unchecked Sendable {
            var calls = Locked<[String]>([])
            override func getCachedResponse(
                for dataTask: URLSessionDataTask, completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
            ) {
                calls.withLock { $0.append("get") }
                completionHandler(nil)
            }
            override func storeCachedResponse(_ cachedResponse: CachedURLResponse, for dataTask: URLSessionDataTask) {
                calls.withLock { $0.append("store") }
            }
        }
        let cache = Own(memoryCapacity: 8 << 20, diskCapacity: 0, diskPath: nil)
        cache.calls = calls
        _ = await makeSession { $0.urlCache = cache }.load(try numbered([("Cache-Control", "max-age=600")]).url())
        await quiet(100)
        try equal(calls.value, ["get", "store"], "calls")
    },
    Case("CACHE-2", name: "downloads are not stored") {
        let server = try Server(Response(200, [("Cache-Control", "max-age=600")], "body"))
        let (session, cache) = cachingSession()
        let done = Locked(false)
        session.downloadTask(with: server.url()) { _, _, _ in done.value = true }.resume()
        await until { done.value }
        await quiet(100)
        try check(cache.cachedResponse(for: URLRequest(url: server.url())) == nil, "stored")
    },
    Case("CACHE-5", "T-42", name: "willCacheResponse comes after the data and before the completion") {
        let recorder = Recorder()
        let (session, _) = cachingSession(recorder)
        session.dataTask(with: try numbered([("Cache-Control", "max-age=600")]).url()).resume()
        await recorder.completion()
        try equal(recorder.events.filter { $0 != "metrics" }, ["response", "data", "cache", "complete"], "callbacks")
    },
    Case("CACHE-5", name: "nothing is stored if willCacheResponse answers nil") {
        let server = try numbered([("Cache-Control", "max-age=600")])
        let recorder = Recorder { $0.cache = { _ in nil } }
        let (session, cache) = cachingSession(recorder)
        session.dataTask(with: server.url()).resume()
        await recorder.completion()
        await quiet(100)
        try check(recorder.events.contains("cache"), "willCacheResponse was not called")
        try check(cache.cachedResponse(for: URLRequest(url: server.url())) == nil, "stored")
    },
    Case("CACHE-5", name: "what willCacheResponse answers is stored") {
        let server = try numbered([("Cache-Control", "max-age=600")])
        let recorder = Recorder { $0.cache = { CachedURLResponse(response: $0.response, data: Data("own".utf8)) } }
        let (session, _) = cachingSession(recorder)
        session.dataTask(with: server.url()).resume()
        await recorder.completion()
        await quiet(100)
        try equal(await session.load(server.url()).summary, "200 own", "second load")
    },
    Case("CACHE-22", name: "storagePolicy .notAllowed in willCacheResponse stores nothing") {
        let server = try numbered([("Cache-Control", "max-age=600")])
        let recorder = Recorder {
            $0.cache = {
                CachedURLResponse(response: $0.response, data: $0.data, userInfo: nil, storagePolicy: .notAllowed)
            }
        }
        let (session, cache) = cachingSession(recorder)
        session.dataTask(with: server.url()).resume()
        await recorder.completion()
        await quiet(100)
        try check(cache.cachedResponse(for: URLRequest(url: server.url())) == nil, "stored")
    },
    Case("T-42", "CACHE-6", name: "willCacheResponse is not called for no-store") {
        let recorder = Recorder()
        let (session, _) = cachingSession(recorder)
        session.dataTask(with: try numbered([("Cache-Control", "no-store")]).url()).resume()
        await recorder.completion()
        try check(!recorder.events.contains("cache"), "called")
    },
    Case("T-40", name: "a stored response: response, data, completion, and no willCacheResponse") {
        let server = try numbered([("Cache-Control", "max-age=600")])
        let cache = makeCache()
        _ = await makeSession { $0.urlCache = cache }.load(server.url())
        await quiet(100)
        let recorder = Recorder()
        await run(URLRequest(url: server.url()), recorder) { $0.urlCache = cache }
        try equal(recorder.events.filter { $0 != "metrics" }, ["response", "data", "complete"], "callbacks")
        try equal(text(recorder.seen.data), "1", "body")
        try equal(server.requests.count, 1, "requests")
    },
    Case("CACHE-26", name: "URLCache stores, finds and removes") {
        let cache = makeCache()
        let (a, b) = (
            try unwrap(URL(string: "http://a.example/"), "URL"), try unwrap(URL(string: "http://b.example/"), "URL")
        )
        for url in [a, b] { cache.storeCachedResponse(try cached(url), for: URLRequest(url: url)) }
        try equal(cache.cachedResponse(for: URLRequest(url: a)).map { text($0.data) }, "body", "data")
        cache.removeCachedResponse(for: URLRequest(url: a))
        try check(cache.cachedResponse(for: URLRequest(url: a)) == nil, "still there after removeCachedResponse")
        try check(cache.cachedResponse(for: URLRequest(url: b)) != nil, "the other is not there")
        cache.removeAllCachedResponses()
        try check(cache.cachedResponse(for: URLRequest(url: b)) == nil, "still there after removeAllCachedResponses")
    },
    Case("CACHE-26", name: "removeCachedResponses(since:) removes what is newer") {
        let cache = makeCache()
        let url = try unwrap(URL(string: "http://a.example/"), "URL")
        cache.storeCachedResponse(try cached(url), for: URLRequest(url: url))
        cache.removeCachedResponses(since: Date(timeIntervalSinceNow: 60))
        try check(cache.cachedResponse(for: URLRequest(url: url)) != nil, "an older one was removed")
        cache.removeCachedResponses(since: Date(timeIntervalSinceNow: -60))
        try check(cache.cachedResponse(for: URLRequest(url: url)) == nil, "still there")
    },
    Case("CACHE-24", name: "a capacity of 0 stores nothing, and a lower one truncates at once") {
        let url = try unwrap(URL(string: "http://a.example/"), "URL")
        let none = makeCache(memory: 0, disk: 0)
        none.storeCachedResponse(try cached(url), for: URLRequest(url: url))
        try check(none.cachedResponse(for: URLRequest(url: url)) == nil, "stored without capacity")
        let cache = makeCache()
        cache.storeCachedResponse(try cached(url), for: URLRequest(url: url))
        try check(cache.currentMemoryUsage > 0, "no memory usage")
        cache.memoryCapacity = 0
        try equal(cache.currentMemoryUsage, 0, "memory usage after truncation")
    },
    Case("CACHE-23", name: "the shared cache has a capacity in memory and on disk") {
        try check(URLCache.shared.memoryCapacity > 0, "none in memory")
        try check(URLCache.shared.diskCapacity > 0, "none on disk")
    },
]
