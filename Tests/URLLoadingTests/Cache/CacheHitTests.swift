import Foundation
import TestSupport
import Testing
import URLLoading

/// Other uses of cached responses, and 304 responses that validate nothing.
@Suite(.leavesNothing) struct CacheHitTests {
    private let cache = URLCache(memoryCapacity: 8 << 20, diskCapacity: 0)

    private func store(_ url: URL, _ fields: [String: String]) throws {
        let response = try #require(
            HTTPURLResponse(url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: fields))
        cache.storeCachedResponse(
            CachedURLResponse(response: response, data: Data("hello".utf8)), for: URLRequest(url: url))
    }

    /// A server whose response is already cached.
    private func storedServer(_ body: [UInt8]) async throws -> ScriptedServer {
        let server = try ScriptedServer.answering(
            CannedResponse.bytes(body).with(field: "Cache-Control", "max-age=3600"))
        _ = try await LoadRecorder.load(URLRequest(url: server.url())) { $0.urlCache = cache }
        #expect(cache.cachedResponse(for: URLRequest(url: server.url())) != nil)
        return server
    }

    // T-44, CACHE-2: small, and more than a file takes at a time
    @Test("a hit becomes a download", arguments: [5, 400_000]) func aHitBecomesADownload(size: Int) async throws {
        let body = [UInt8].pattern(count: size)
        let server = try await storedServer(body)
        defer { server.stop() }
        let delegate = RecordingDownloadDelegate()
        delegate.answer = { $1(.becomeDownload) }
        let session = URLSession(delegate) { $0.urlCache = cache }
        session.dataTask(with: server.url()).resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .response(1, 200), .became(1, 2), .wrote(2, Int64(size), Int64(size)),
                .downloaded(2, size), .metrics(2), .completed(2, nil), .invalid,
            ])
        #expect(delegate.contents.events == [Data(body)])
        #expect(delegate.faults.events == [])
        #expect(server.connectionCount == 1)
    }

    // T-45: there is no connection
    @Test("a hit cannot become a stream") func aHitCannotBecomeAStream() async throws {
        let server = try await storedServer([1, 2, 3])
        defer { server.stop() }
        let delegate = RecordingStreamDelegate()
        delegate.answer = { $1(.becomeStream) }
        let session = URLSession(delegate) { $0.urlCache = cache }
        session.dataTask(with: server.url()).resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .response(1, 200), .became(1, 2), .metrics(2), .completed(2, .networkConnectionLost),
                .invalid,
            ])
        #expect(delegate.faults.events == [])
        #expect(server.connectionCount == 1)
    }

    // CACHE-14, CACHE-15: RFC 9110 §15.4.5: the request was unconditional
    @Test("an unconditional request gets a 304 as its response", arguments: [false, true])
    func anUnconditionalRequestGetsA304AsItsResponse(isStored: Bool) async throws {
        let server = try ScriptedServer.answering(CannedResponse.status(304).with(field: "X-News", "1"))
        defer { server.stop() }
        // Too old, and without anything to ask about.
        if isStored { try store(server.url(), ["Cache-Control": "max-age=0"]) }
        #expect(
            try await LoadRecorder.load(URLRequest(url: server.url())) { $0.urlCache = cache }
                == [.response(304), .succeeded, .invalid])
        #expect(server.requests.map { $0["If-None-Match"] ?? $0["If-Modified-Since"] } == [nil])
        let kept = cache.cachedResponse(for: URLRequest(url: server.url()))
        #expect(kept?.data == (isStored ? Data("hello".utf8) : nil))
        #expect((kept?.response as? HTTPURLResponse)?.value(forHTTPHeaderField: "X-News") == nil)
    }

    // CACHE-13, CACHE-14: RFC 9111 §4.3.4
    @Test("a 304 about something else makes the request go out again")
    func a304AboutSomethingElseMakesTheRequestGoOutAgain() async throws {
        let server = try ScriptedServer.answering { request in
            guard request["If-None-Match"] == nil else {
                return CannedResponse.status(304).with(field: "ETag", "\"other\"")
            }
            return .text("new").with(field: "ETag", "\"new\"").with(field: "Cache-Control", "no-cache")
        }
        defer { server.stop() }
        try store(server.url(), ["Cache-Control": "no-cache", "ETag": "\"old\""])
        #expect(
            try await LoadRecorder.load(URLRequest(url: server.url())) { $0.urlCache = cache }
                == [.response(200), .data("new"), .succeeded, .invalid])
        #expect(server.requests.map { $0["If-None-Match"] } == ["\"old\"", nil])
        #expect(cache.cachedResponse(for: URLRequest(url: server.url()))?.data == Data("new".utf8))
    }
}
