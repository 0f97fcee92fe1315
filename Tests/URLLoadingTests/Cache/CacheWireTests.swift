import Foundation
import TestSupport
import Testing
import URLLoading

/// The cache between a session and a server: hits, validation, storage.
@Suite(.leavesNothing) struct CacheWireTests {
    /// Responds with the number of the request as body, and the fields in the query. Requests with `If-None-Match:
    /// "v1"` get 304.
    static func answer(_ request: ReceivedRequest, number: Int) -> CannedResponse {
        let fields = (request.query ?? "").split(separator: "&").map { pair in
            pair.split(separator: "=", maxSplits: 1).map { String($0).removingPercentEncoding ?? "" }
        }
        let isConfirmed = request["If-None-Match"] == "\"v1\"" && request.path != "/changed"
        var response =
            isConfirmed ? CannedResponse.status(304).with(field: "X-News", "\(number)") : .text("body \(number)")
        if request.path == "/growing" { response = .text("body \(String(repeating: "\(number)", count: number))") }
        if request.path == "/moved" { response = .redirect(to: "/end?Cache-Control=no-store", status: 301) }
        if request.path == "/lent" { response = .redirect(to: "/end?Cache-Control=no-store", status: 302) }
        if request.path == "/chunks" {
            response = .chunked([String](repeating: String(repeating: "x", count: 50_000), count: 6))
        }
        if request.path == "/large" { response = .bytes([UInt8](repeating: 0x78, count: 300_000)) }
        if request.path == "/missing" { response = .text("none", status: 404) }
        for field in fields where field.count == 2 { response = response.with(field: field[0], field[1]) }
        return response
    }

    private let server: ScriptedServer
    private let configuration = URLSessionConfiguration.ephemeral

    init() throws {
        let count = Watched(0)
        server = try ScriptedServer.answering { request in
            Self.answer(
                request,
                number: count.withValue {
                    $0 += 1; return $0
                })
        }
    }

    private var cache: URLCache { get throws { try #require(configuration.urlCache) } }

    private func url(_ path: String, _ fields: [(String, String)] = []) -> URL {
        let query = fields.map { name, value in
            "\(name)=\(value.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")"
        }
        return server.url(path + (query.isEmpty ? "" : "?" + query.joined(separator: "&")))
    }

    private func fresh(_ path: String = "/") -> URL { url(path, [("Cache-Control", "max-age=3600")]) }

    private func tagged(_ path: String = "/") -> URL { url(path, [("ETag", "\"v1\""), ("Cache-Control", "no-cache")]) }

    /// The status and body of each load.
    private func load(_ requests: [URLRequest]) async throws -> [String] {
        let session = URLSession(configuration: configuration)
        defer {
            session.finishTasksAndInvalidate()
            server.stop()
        }
        var brought: [String] = []
        for request in requests {
            let (data, response) = try await session.data(for: request)
            let text = data.count < 100 ? String(decoding: data, as: UTF8.self) : "\(data.count) bytes"
            brought.append("\((response as? HTTPURLResponse)?.statusCode ?? 0) \(text)")
        }
        return brought
    }

    private func load(_ urls: URL...) async throws -> [String] { try await load(urls.map { URLRequest(url: $0) }) }

    // CACHE-7, CACHE-17
    @Test("a fresh response is served without a request")
    func freshIsServed() async throws {
        #expect(try await load(fresh(), fresh(), fresh("/other")) == ["200 body 1", "200 body 1", "200 body 2"])
        #expect(server.requests.count == 2)
    }

    // CACHE-6, CACHE-7, CACHE-17: stored, and not served unasked
    @Test("a stale response is loaded again", arguments: ["public", "private", "max-age=0", "no-cache"])
    func staleIsLoaded(_ directive: String) async throws {
        let target = url("/", [("Cache-Control", directive)])
        #expect(try await load(target, target) == ["200 body 1", "200 body 2"])
        #expect(try cache.cachedResponse(for: URLRequest(url: target))?.data == Data("body 2".utf8))
    }

    // CACHE-6
    @Test("a no-store response is not stored and removes the stored one")
    func notKept() async throws {
        let target = url("/", [("Cache-Control", "no-store")])
        let session = URLSession(configuration: configuration)
        defer { session.finishTasksAndInvalidate() }
        try cache.storeCachedResponse(
            CachedURLResponse(
                response: #require(HTTPURLResponse(url: target, statusCode: 200, httpVersion: nil, headerFields: nil)),
                data: Data("old".utf8)), for: URLRequest(url: target))
        #expect(try await load(target) == ["200 body 1"])
        #expect(try cache.cachedResponse(for: URLRequest(url: target)) == nil)
    }

    // CACHE-13, CACHE-14, CACHE-16: a conditional GET; the caller gets the stored body with the fields of the 304
    @Test("a response that the server confirms")
    func confirmed() async throws {
        let session = URLSession(configuration: configuration)
        defer {
            session.finishTasksAndInvalidate()
            server.stop()
        }
        let first = try await session.data(from: tagged())
        let second = try await session.data(from: tagged())
        #expect(first.0 == second.0)
        let response = try #require(second.1 as? HTTPURLResponse)
        #expect(response.statusCode == 200)
        #expect(response.value(forHTTPHeaderField: "X-News") == "2")
        #expect(response.value(forHTTPHeaderField: "Content-Type") == "text/plain; charset=utf-8")
        #expect(server.requests.map(\.method) == ["GET", "GET"])
        #expect(server.requests.map { $0["If-None-Match"] } == [nil, "\"v1\""])
        #expect(server.connectionCount == 1)
        let kept = try cache.cachedResponse(for: URLRequest(url: tagged()))?.response as? HTTPURLResponse
        #expect(kept?.value(forHTTPHeaderField: "X-News") == "2")
    }

    // CACHE-13
    @Test("a response that has changed takes the place of the stored one")
    func changed() async throws {
        #expect(
            try await load(tagged("/changed"), tagged("/changed")) == ["200 body 1", "200 body 2"])
        #expect(server.requests.last?["If-None-Match"] == "\"v1\"")
        #expect(
            try cache.cachedResponse(for: URLRequest(url: tagged("/changed")))?.data == Data("body 2".utf8))
    }

    // CACHE-8 to CACHE-12
    @Test(
        "policies",
        arguments: [
            (.useProtocolCachePolicy, "200 body 1", "200 body 3"),
            (.returnCacheDataElseLoad, "200 body 1", "200 body 2"),
            (.returnCacheDataDontLoad, "200 body 1", "200 body 2"),
            (.reloadIgnoringLocalCacheData, "200 body 3", "200 body 4"),
            (.reloadIgnoringLocalAndRemoteCacheData, "200 body 3", "200 body 4"),
            (.reloadRevalidatingCacheData, "200 body 3", "200 body 4"),
        ] as [(URLRequest.CachePolicy, String, String)], [false, true])
    func policies(_ expected: (URLRequest.CachePolicy, String, String), isSessions: Bool) async throws {
        let (policy, forFresh, forStale) = expected
        let session = URLSession(configuration: configuration)
        defer { session.finishTasksAndInvalidate() }
        let stale = url("/stale", [("Cache-Control", "max-age=0")])
        for target in [fresh(), stale] { _ = try await session.data(from: target) }
        if isSessions { configuration.requestCachePolicy = policy }
        let requests = [fresh(), stale].map { target in
            isSessions ? URLRequest(url: target) : URLRequest(url: target, cachePolicy: policy)
        }
        #expect(try await load(requests) == [forFresh, forStale])
        let later = server.requests.dropFirst(2)
        switch policy {
        case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData:
            #expect(later.map { $0["Cache-Control"] } == ["no-cache", "no-cache"])
            #expect(later.map { $0["Pragma"] } == ["no-cache", "no-cache"])
        case .reloadRevalidatingCacheData: #expect(later.map { $0["Cache-Control"] } == ["max-age=0", "max-age=0"])
        default: #expect(later.allSatisfy { $0["Cache-Control"] == nil })
        }
    }

    // CACHE-9
    @Test("nothing stored, and nothing may be loaded", arguments: [true, false])
    func nothingStored(hasCache: Bool) async throws {
        if !hasCache { configuration.urlCache = nil }
        let request = URLRequest(url: fresh(), cachePolicy: .returnCacheDataDontLoad)
        let error = await #expect(throws: URLError.self) { try await load([request]) }
        #expect(error?.code == .resourceUnavailable)
        #expect(server.requests.isEmpty)
    }

    // C-27
    @Test("no cache, no hits")
    func noCache() async throws {
        configuration.urlCache = nil
        #expect(try await load(fresh(), fresh()) == ["200 body 1", "200 body 2"])
    }

    // CACHE-15
    @Test("conditional fields of the caller bypass the cache")
    func callersConditions() async throws {
        let own = URLRequest(url: tagged()).with { $0.setValue("\"v1\"", forHTTPHeaderField: "If-None-Match") }
        #expect(try await load([own, URLRequest(url: tagged()), own]) == ["304 ", "200 body 2", "304 "])
    }

    // CACHE-18
    @Test("another variant is loaded, and takes the place of the stored one")
    func variants() async throws {
        let target = url("/", [("Cache-Control", "max-age=3600"), ("Vary", "X-Kind")])
        let request = { (kind: String) in
            URLRequest(url: target).with { $0.setValue(kind, forHTTPHeaderField: "X-Kind") }
        }
        #expect(
            try await load(["a", "a", "b", "a"].map(request))
                == ["200 body 1", "200 body 1", "200 body 2", "200 body 3"])
    }

    // CACHE-19: also where a header names another address, of the same origin
    @Test("an invalidated response is loaded again")
    func invalidation() async throws {
        let post = { (url: URL) in URLRequest(url: url).with { $0.httpMethod = "POST" } }
        let naming = url("/act", [("Content-Location", fresh("/other").absoluteString)])
        #expect(
            try await load([
                URLRequest(url: fresh()), post(fresh()), URLRequest(url: fresh()), URLRequest(url: fresh("/other")),
                post(naming), URLRequest(url: fresh("/other")), URLRequest(url: fresh()),
            ]) == [
                "200 body 1", "200 body 2", "200 body 3", "200 body 4", "200 body 5", "200 body 6", "200 body 3",
            ])
    }

    // CACHE-20
    @Test("a HEAD response validates the stored response")
    func head() async throws {
        // Its length differs from that of what is stored.
        let target = url("/growing", [("Cache-Control", "max-age=3600")])
        let head = URLRequest(url: target).with { $0.httpMethod = "HEAD" }
        #expect(
            try await load([URLRequest(url: target), URLRequest(url: target), head, URLRequest(url: target)])
                == ["200 body 1", "200 body 1", "200 ", "200 body 333"])
    }

    // CACHE-18, CACHE-20: what a HEAD asks for is not what the stored body was chosen by
    @Test("a HEAD response with another Vary does not change the stored variant")
    func headWithAnotherVary() async throws {
        let server = try ScriptedServer.answering { request in
            let response = CannedResponse.text("in \(request["Accept-Language"] ?? "")")
                .with(field: "Cache-Control", "max-age=3600")
            return request.method == "HEAD" ? response.with(field: "Vary", "Accept-Language") : response
        }
        defer { server.stop() }
        let german = URLRequest(url: server.url("/")).with { $0.setValue("de", forHTTPHeaderField: "Accept-Language") }
        let english = german.with { $0.setValue("en", forHTTPHeaderField: "Accept-Language") }
        #expect(
            try await load([german, english.with { $0.httpMethod = "HEAD" }, english])
                == ["200 in de", "200 ", "200 in en"])
        #expect(server.requests.map(\.method) == ["GET", "HEAD", "GET"])
    }

    // CACHE-20, CACHE-6: RFC 9111 §5.2.2.5
    @Test("a no-store HEAD response removes the stored response")
    func headWithoutStoring() async throws {
        let server = try ScriptedServer.answering { request in
            .text("body").with(field: "Cache-Control", request.method == "HEAD" ? "no-store" : "max-age=3600")
        }
        defer { server.stop() }
        let get = URLRequest(url: server.url("/"))
        #expect(try await load([get, get.with { $0.httpMethod = "HEAD" }, get]) == ["200 body", "200 ", "200 body"])
        #expect(server.requests.map(\.method) == ["GET", "HEAD", "GET"])
    }

    // R-26: a persistent redirect that was the result is followed when it is served
    @Test("a stored redirect")
    func storedRedirect() async throws {
        let delegate = RecordingDelegate()
        let isRefused = Watched(true)
        delegate.redirect = { proposed, reply in reply(isRefused.current ? nil : proposed) }
        let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
        defer { server.stop() }
        session.dataTask(with: fresh("/moved")).resume()
        _ = try await delegate.calls(untilCompletions: 1)
        isRefused.withValue { $0 = false }
        session.dataTask(with: fresh("/moved")).resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .redirect(1, 301), .response(1, 301), .metrics(1), .completed(1, nil),
                .created(2), .redirect(2, 301), .response(2, 200), .data(2, "body 2"), .metrics(2), .completed(2, nil),
                .invalid,
            ])
        #expect(server.requests.map(\.path) == ["/moved", "/end"])
    }

    // R-26: and so is one that was followed; one that does not last is not kept
    @Test("a redirect that was followed", arguments: [false, true])
    func followedRedirect(asks: Bool) async throws {
        let delegate = RecordingDelegate()
        let session =
            asks
            ? URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
            : URLSession(configuration: configuration)
        defer { server.stop() }
        for path in ["/moved", "/moved", "/lent", "/lent"] {
            let collector = MetricsCollector()
            _ = try await session.data(for: URLRequest(url: fresh(path)), delegate: asks ? nil : collector)
            if asks { continue }
            let kinds = try await collector.metrics.waitFor(count: 1)[0].transactionMetrics.map(\.resourceFetchType)
            let isHit = path == "/moved" && server.requests.count == 3
            #expect(kinds == [isHit ? .localCache : .networkLoad, .networkLoad])
        }
        session.finishTasksAndInvalidate()
        #expect(server.requests.map(\.path) == ["/moved", "/end", "/end", "/lent", "/end", "/lent", "/end"])
        let kept = try cache.cachedResponse(for: URLRequest(url: fresh("/moved")))
        #expect((kept?.response as? HTTPURLResponse)?.statusCode == 301)
        #expect(kept?.response.url == fresh("/moved"))
        guard asks else { return }
        let redirects = try await delegate.callsUntilInvalid().filter { $0.kind == "redirect" }
        #expect(redirects == [.redirect(1, 301), .redirect(2, 301), .redirect(3, 302), .redirect(4, 302)])
    }

    // CACHE-3, R-26: RFC 9111 §5.2.2.5, whether it is followed or not
    @Test("a permanent redirect that is not stored removes the stored response", arguments: [true, false])
    func redirectWithNoStore(isFollowed: Bool) async throws {
        let delegate = RecordingDelegate()
        delegate.redirect = { proposed, reply in reply(isFollowed ? proposed : nil) }
        let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
        defer { server.stop() }
        let target = url("/moved", [("Cache-Control", "no-store")])
        try cache.storeCachedResponse(
            CachedURLResponse(
                response: #require(
                    HTTPURLResponse(
                        url: target, statusCode: 200, httpVersion: nil, headerFields: ["Cache-Control": "max-age=3600"])
                ),
                data: Data("old".utf8)), for: URLRequest(url: target))
        session.dataTask(with: URLRequest(url: target, cachePolicy: .reloadIgnoringLocalCacheData)).resume()
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        #expect(try cache.cachedResponse(for: URLRequest(url: target)) == nil)
    }

    // R-26, CACHE-26: a cache of the program's gets it for its own address
    @Test("a redirect for a cache of the caller's") func redirectForASubclass() async throws {
        final class Own: URLCache, @unchecked Sendable {
            let stored = EventRecorder<String>()
            override func storeCachedResponse(_ cachedResponse: CachedURLResponse, for request: URLRequest) {
                let status = (cachedResponse.response as? HTTPURLResponse)?.statusCode ?? 0
                stored.record("\(request.url?.path ?? "") \(status)")
                super.storeCachedResponse(cachedResponse, for: request)
            }
        }
        let own = Own(memoryCapacity: 1 << 20, diskCapacity: 0, directory: nil)
        configuration.urlCache = own
        #expect(try await load(fresh("/moved"), fresh("/moved")) == ["200 body 2", "200 body 3"])
        #expect(own.stored.events == ["/moved 301"])
        #expect(server.requests.map(\.path) == ["/moved", "/end", "/end"])
    }

    // CACHE-19: an upload changes as much as a request with a body
    @Test("an upload invalidates the stored response")
    func upload() async throws {
        let session = URLSession(configuration: configuration)
        defer {
            session.finishTasksAndInvalidate()
            server.stop()
        }
        _ = try await session.data(from: fresh())
        let put = URLRequest(url: fresh()).with { $0.httpMethod = "PUT" }
        _ = try await session.upload(for: put, from: Data("new".utf8))
        #expect(try await session.data(from: fresh()).0 == Data("body 3".utf8))
    }

    private func range(_ range: String, of url: URL) -> URLRequest {
        URLRequest(url: url).with { $0.setValue(range, forHTTPHeaderField: "Range") }
    }

    // CACHE-20
    @Test("the response to a range request is not stored")
    func ranges() async throws {
        let part = range("bytes=0-1", of: fresh())
        #expect(try await load([part, part, URLRequest(url: fresh())]) == ["200 body 1", "200 body 2", "200 body 3"])
    }

    // CACHE-20: RFC 9110 §14.2, §15.3.7. The server answers for bytes that are not stored.
    @Test("a range of a fresh stored response is served as 206")
    func rangeOfAStoredResponse() async throws {
        let session = URLSession(configuration: configuration)
        defer {
            session.finishTasksAndInvalidate()
            server.stop()
        }
        _ = try await session.data(from: fresh())
        let (data, response) = try await session.data(for: range("bytes=-3", of: fresh()))
        #expect(data == Data("y 1".utf8) && data.startIndex == 0)
        let http = try #require(response as? HTTPURLResponse)
        #expect(http.statusCode == 206)
        #expect(http.value(forHTTPHeaderField: "Content-Range") == "bytes 3-5/6")
        #expect(http.value(forHTTPHeaderField: "Content-Length") == "3")
        #expect(http.value(forHTTPHeaderField: "Cache-Control") == "max-age=3600")
        #expect(http.value(forHTTPHeaderField: "Age") != nil)
        #expect(http.expectedContentLength == 3)
        #expect(server.requests.count == 1)
        // The part has not replaced the whole.
        #expect(try await session.data(from: fresh()).0 == Data("body 1".utf8))
        #expect(try await session.data(for: range("bytes=6-", of: fresh())).0 == Data("body 2".utf8))
        #expect(server.requests.map { $0["Range"] } == [nil, "bytes=6-"])
    }

    // CACHE-3
    @Test("errors are not kept")
    func errors() async throws {
        #expect(try await load(fresh("/missing"), fresh("/missing")) == ["404 none", "404 none"])
        #expect(server.requests.count == 2)
    }

    // CACHE-3, CACHE-4: with an announced length and without
    @Test("a response that is too large is not stored, and removes the stored one", arguments: ["/large", "/chunks"])
    func tooLarge(path: String) async throws {
        try cache.storeCachedResponse(
            CachedURLResponse(
                response: #require(
                    HTTPURLResponse(url: fresh(path), statusCode: 200, httpVersion: nil, headerFields: nil)),
                data: Data("old".utf8)), for: URLRequest(url: fresh(path)))
        #expect(try await load(fresh(path), fresh(path)) == ["200 300000 bytes", "200 300000 bytes"])
        #expect(server.requests.count == 2)
        #expect(try cache.currentMemoryUsage == 0)
    }

    // CACHE-31: beyond the limit memory is where it was, however long the body is
    @Test("a body without end is not gathered for the cache", arguments: [nil, "max-age=60"])
    func endlessBody(control: String?) async throws {
        let endless = CannedResponse.endless
        let server = try ScriptedServer.answering(control.map { endless.with(field: "Cache-Control", $0) } ?? endless)
        defer { server.stop() }
        let delegate = CountingDelegate()
        delegate.during = { count, task in if count >= 64_000_000 { task.cancel() } }
        // So a body of 5 MB is kept, but none that is larger.
        let cache = URLCache(memoryCapacity: 100_000_000, diskCapacity: 0)
        let session = URLSession(delegate) { $0.urlCache = cache }
        let watch = try MemoryWatch()
        session.dataTask(with: server.url()).resume()
        session.finishTasksAndInvalidate()
        try await delegate.ended.wait()
        #expect(delegate.received.current >= 64_000_000)
        #expect(watch.growth() < Memory.limit(24_000_000))
        #expect(cache.currentMemoryUsage == 0)
    }

    // CACHE-2
    @Test("downloads neither keep nor are served")
    func downloads() async throws {
        let session = URLSession(configuration: configuration)
        defer {
            session.finishTasksAndInvalidate()
            server.stop()
        }
        _ = try await session.data(from: fresh())
        for (path, number) in [("/", 2), ("/other", 3), ("/other", 4)] {
            let (file, _) = try await session.download(from: fresh(path))
            #expect(try Data(contentsOf: file) == Data("body \(number)".utf8))
            try FileManager.default.removeItem(at: file)
        }
        #expect(try cache.cachedResponse(for: URLRequest(url: fresh("/other"))) == nil)
    }

    // CACHE-1, CACHE-19: a fragment is no part of the address; a jar of its own is
    @Test("URLs with the same cache key")
    func keys() async throws {
        let withFragment = try #require(URL(string: fresh().absoluteString + "#part"))
        let inside = URLRequest(url: fresh()).with { $0.cookiePartitionIdentifier = "p" }
        #expect(
            try await load([URLRequest(url: fresh()), URLRequest(url: withFragment), inside, inside])
                == ["200 body 1", "200 body 1", "200 body 2", "200 body 2"])
    }

    // CACHE-21
    @Test("a response to an authorized request")
    func authorization() async throws {
        let request = URLRequest(url: fresh()).with { $0.setValue("Bearer x", forHTTPHeaderField: "Authorization") }
        #expect(try await load([request, request]) == ["200 body 1", "200 body 1"])
    }

    // MET-3: a hit needs no network
    @Test("metrics of a hit and of a validated response")
    func metrics() async throws {
        let session = URLSession(configuration: configuration)
        defer {
            session.finishTasksAndInvalidate()
            server.stop()
        }
        var kinds: [[URLSessionTaskMetrics.ResourceFetchType]] = []
        for target in [fresh(), fresh(), tagged(), tagged()] {
            let collector = MetricsCollector()
            _ = try await session.data(for: URLRequest(url: target), delegate: collector)
            let metrics = try await collector.metrics.waitFor(count: 1)[0]
            kinds.append(metrics.transactionMetrics.map(\.resourceFetchType))
            // MET-15
            let isConfirmed = metrics.transactionMetrics.count == 2
            #expect(
                metrics.transactionMetrics.map { ($0.response as? HTTPURLResponse)?.statusCode }
                    == (isConfirmed ? [304, 200] : [200]))
            for hit in metrics.transactionMetrics where hit.resourceFetchType == .localCache {
                #expect(hit.requestStartDate == nil)
                #expect(hit.connectStartDate == nil)
            }
        }
        #expect(
            kinds == [[.networkLoad], [.localCache], [.networkLoad], [.networkLoad, .localCache]])
    }

    private final class MetricsCollector: NSObject, URLSessionTaskDelegate {
        let metrics = EventRecorder<URLSessionTaskMetrics>()
        func urlSession(
            _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
        ) { self.metrics.record(metrics) }
    }

    // S-68, T-42, CACHE-5: after all data, before the end, which waits for the answer
    @Test("the delegate decides what is cached", arguments: [true, false])
    func delegateIsAsked(keeps: Bool) async throws {
        let delegate = KeepingDelegate(keeps: keeps)
        let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
        defer {
            session.finishTasksAndInvalidate()
            server.stop()
        }
        session.dataTask(with: fresh()).resume()
        #expect(
            try await delegate.calls.wait(for: "end") == ["response 200", "data", "will cache 6 bytes", "end"])
        let kept = try cache.cachedResponse(for: URLRequest(url: fresh()))
        #expect(kept?.userInfo as? [String: String] == (keeps ? ["own": "1"] : nil))
        session.dataTask(with: fresh()).resume()
        let calls = try await delegate.calls.waitUntil { $0.filter { $0 == "end" }.count == 2 }
        #expect(
            calls.dropFirst(4)
                == (keeps ? ["response 200", "data", "end"] : ["response 200", "data", "will cache 6 bytes", "end"]))
        #expect(server.requests.count == (keeps ? 1 : 2))
    }

    private final class KeepingDelegate: NSObject, URLSessionDataDelegate {
        let calls = EventRecorder<String>()
        let keeps: Bool
        init(keeps: Bool) { self.keeps = keeps }
        func urlSession(
            _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
            completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
        ) {
            calls.record("response \((response as? HTTPURLResponse)?.statusCode ?? 0)")
            completionHandler(.allow)
        }
        func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
            calls.record("data")
        }
        func urlSession(
            _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposedResponse: CachedURLResponse,
            completionHandler: @escaping (CachedURLResponse?) -> Void
        ) {
            calls.record("will cache \(proposedResponse.data.count) bytes")
            let answer = CachedURLResponse(
                response: proposedResponse.response, data: proposedResponse.data, userInfo: ["own": "1"],
                storagePolicy: .allowed)
            let keeps = keeps
            nonisolated(unsafe) let completionHandler = completionHandler
            DispatchQueue.global().async { completionHandler(keeps ? answer : nil) }
        }
        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            calls.record("end")
        }
    }

    // CACHE-26: what a subclass says goes, however late
    @Test("a cache of the caller's", arguments: [false, true])
    func subclass(answersLater: Bool) async throws {
        let own = RecordingCache(answersLater: answersLater)
        configuration.urlCache = own
        let post = URLRequest(url: fresh()).with { $0.httpMethod = "POST" }
        #expect(
            try await load([
                URLRequest(url: fresh()), URLRequest(url: fresh()), post, URLRequest(url: tagged()),
                URLRequest(url: tagged()),
            ])
                == ["200 body 1", "200 body 1", "200 body 2", "200 body 3", "200 body 3"])
        #expect(
            try await own.calls.waitFor(count: 8)
                == ["get", "store", "get", "remove", "get", "store", "get", "store"])
    }

    // CACHE-10, CACHE-11, CACHE-26
    @Test(
        "a policy without stored responses looks none up; the new response replaces the stored one",
        arguments: [
            URLRequest.CachePolicy.reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData,
        ])
    func noLookup(policy: URLRequest.CachePolicy) async throws {
        let own = RecordingCache()
        configuration.urlCache = own
        let anew = URLRequest(url: fresh()).with { $0.cachePolicy = policy }
        let unkept = URLRequest(url: url("/", [("Cache-Control", "no-store")])).with { $0.cachePolicy = policy }
        #expect(
            try await load([anew, URLRequest(url: fresh()), anew, unkept])
                == ["200 body 1", "200 body 1", "200 body 2", "200 body 3"])
        #expect(try await own.calls.waitFor(count: 4) == ["store", "get", "store", "remove"])
    }

    // CACHE-10, CACHE-6
    @Test(
        "a stored response is removed when a newer one may not be stored, even without a lookup",
        arguments: [false, true])
    func validatedResponseMustNotBeStored(asks: Bool) async throws {
        let target = asks ? fresh() : url("/", [("Cache-Control", "no-store")])
        try cache.storeCachedResponse(
            CachedURLResponse(
                response: #require(HTTPURLResponse(url: target, statusCode: 200, httpVersion: nil, headerFields: nil)),
                data: Data("old".utf8)), for: URLRequest(url: target))
        let delegate = KeepingDelegate(keeps: false)
        let session = URLSession(
            configuration: configuration, delegate: asks ? delegate : nil, delegateQueue: nil)
        defer {
            session.finishTasksAndInvalidate()
            server.stop()
        }
        let request = URLRequest(url: target).with { $0.cachePolicy = .reloadIgnoringLocalCacheData }
        if asks {
            session.dataTask(with: request).resume()
            _ = try await delegate.calls.wait(for: "end")
        } else {
            #expect(try await session.data(for: request).0 == Data("body 1".utf8))
        }
        #expect(try cache.cachedResponse(for: URLRequest(url: target)) == nil)
    }

    // CACHE-4, CACHE-5
    @Test("a tier without room does not store the delegate's response", arguments: [true, false])
    func roomWhenAsked(isSmall: Bool) async throws {
        let directory = try TemporaryDirectory()
        configuration.urlCache = URLCache(
            memoryCapacity: 100_000, diskCapacity: 100_000_000, directory: directory.file("cache"))
        let delegate = KeepingDelegate(keeps: true)
        let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
        defer {
            session.finishTasksAndInvalidate()
            server.stop()
        }
        let target = fresh(isSmall ? "/" : "/chunks")
        session.dataTask(with: target).resume()
        _ = try await delegate.calls.wait(for: "end")
        #expect(try (cache.currentMemoryUsage > 0) == isSmall)
        #expect(try cache.cachedResponse(for: URLRequest(url: target)) != nil)
    }

    // CACHE-25, T-38: a body that ends early is not kept
    @Test("half a body is never kept")
    func halfABody() async throws {
        let broken = try ScriptedServer { connection in
            _ = try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\nCache-Control: max-age=60\r\n\r\nhalf")
        }
        defer { broken.stop() }
        let session = URLSession(configuration: configuration)
        defer {
            session.finishTasksAndInvalidate()
            server.stop()
        }
        await #expect(throws: URLError.self) { try await session.data(from: broken.url("/")) }
        #expect(try cache.cachedResponse(for: URLRequest(url: broken.url("/"))) == nil)
    }

    // CACHE-17: undone codings are not undone again
    @Test("a coded body is stored decoded")
    func coded() async throws {
        let gzip: [UInt8] = [
            0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 0xCB, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x86, 0xA6, 0x10, 0x36, 5, 0,
            0, 0,
        ]
        let coding = try ScriptedServer.answering { _ in
            CannedResponse.bytes(gzip).with(field: "Content-Encoding", "gzip").with(
                field: "Cache-Control", "max-age=60")
        }
        defer { coding.stop() }
        #expect(try await load(coding.url("/"), coding.url("/")) == ["200 hello", "200 hello"])
        #expect(coding.requests.count == 1)
    }
}
