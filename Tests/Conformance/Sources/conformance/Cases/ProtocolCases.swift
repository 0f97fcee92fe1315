import Foundation
import FoundationNetworking

/// What a `URLProtocol` does, as each case wants it.
private let script = Locked<@Sendable (Scripted) -> Void>({ _ in })
private let stopped = Locked(0)

private class Scripted: URLProtocol {
    override class func canInit(with request: URLRequest) -> Bool { request.url?.scheme == "scripted" }
    override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }
    override func startLoading() { script.value(self) }
    override func stopLoading() { stopped.withLock { $0 += 1 } }

    func answer(
        _ body: String, status: Int = 200, _ fields: [String: String] = [:],
        _ policy: URLCache.StoragePolicy = .notAllowed
    ) {
        guard let url = request.url,
            let response = HTTPURLResponse(url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: fields)
        else { return }
        client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: policy)
        if !body.isEmpty { client?.urlProtocol(self, didLoad: Data(body.utf8)) }
        client?.urlProtocolDidFinishLoading(self)
    }
}

/// Claims what `Scripted` claims too.
private final class Second: Scripted {
    override func startLoading() { answer("second") }
}

/// Adds a field to each request that it claims.
private final class Canonical: Scripted {
    override class func canonicalRequest(for request: URLRequest) -> URLRequest {
        var request = request
        request.setValue("yes", forHTTPHeaderField: "X-Canonical")
        return request
    }
}

private func scripted(
    _ delegate: (any URLSessionDelegate)? = nil, _ classes: [AnyClass] = [Scripted.self],
    _ start: @escaping @Sendable (Scripted) -> Void
) -> URLSession {
    script.value = start
    return makeSession(delegate) { $0.protocolClasses = classes }
}

private func url() throws -> URL { try unwrap(URL(string: "scripted://host/a"), "URL") }

let protocolCases: [Case] = [
    Case("MISC-18", "S-10", "C-28", name: "a class of protocolClasses loads its scheme") {
        try equal(await scripted { $0.answer("own") }.load(try url()).summary, "200 own", "load")
    },
    Case("MISC-18", name: "a class of protocolClasses comes before the built-in loader") {
        final class Everything: Scripted {
            override class func canInit(with request: URLRequest) -> Bool { true }
        }
        let server = try Server(Response(200, [], "server"))
        try equal(
            await scripted(nil, [Everything.self]) { $0.answer("own") }.load(server.url()).summary, "200 own", "load")
        try equal(server.connectionCount, 0, "connections")
    },
    Case("C-28", name: "the first of protocolClasses that claims a request loads it") {
        let first = scripted(nil, [Second.self, Scripted.self]) { $0.answer("first") }
        try equal(await first.load(try url()).summary, "200 second", "load")
    },
    Case("MISC-18", name: "of registered classes the last is asked first, and unregistered ones are not asked") {
        script.value = { $0.answer("first") }
        try equal(URLProtocol.registerClass(Scripted.self), true, "registered")
        try equal(URLProtocol.registerClass(Second.self), true, "registered")
        try equal(await URLSession.shared.load(try url()).summary, "200 second", "load")
        URLProtocol.unregisterClass(Second.self)
        try equal(await URLSession.shared.load(try url()).summary, "200 first", "load after it")
    },
    Case("MISC-18", name: "a protocol's callbacks are those of the task") {
        let recorder = Recorder()
        scripted(recorder) { one in
            guard let url = one.request.url else { return }
            one.client?.urlProtocol(
                one,
                didReceive: URLResponse(url: url, mimeType: "a/b", expectedContentLength: 6, textEncodingName: nil),
                cacheStoragePolicy: .notAllowed)
            one.client?.urlProtocol(one, didLoad: Data("one".utf8))
            one.client?.urlProtocol(one, didLoad: Data("two".utf8))
            one.client?.urlProtocolDidFinishLoading(one)
        }.dataTask(with: try url()).resume()
        await recorder.completion()
        try equal(recorder.events.filter { $0 != "metrics" }, ["response", "data", "complete"], "callbacks")
        try equal(text(recorder.seen.data), "onetwo", "body")
        try equal(recorder.seen.responses.map(\.mimeType), ["a/b"], "types")
    },
    Case("MISC-18", name: "the error of a protocol ends the task") {
        let outcome = await scripted { $0.client?.urlProtocol($0, didFailWithError: URLError(.badServerResponse)) }
            .load(try url())
        try equal(outcome.code, NSURLErrorBadServerResponse, "error")
    },
    Case("MISC-18", name: "stopLoading is called at the end") {
        _ = await scripted { $0.answer("own") }.load(try url())
        await quiet(500)
        try equal(stopped.value, 1, "calls")
    },
    Case("MISC-18", name: "stopLoading is called when the task is cancelled") {
        let started = Locked(false)
        let recorder = Recorder()
        let task = scripted(recorder) { _ in started.value = true }.dataTask(with: try url())
        task.resume()
        await until { started.value }
        task.cancel()
        await recorder.completion()
        await quiet(500)
        try equal(stopped.value, 1, "calls")
        try equal(code(recorder.seen.errors[0]), NSURLErrorCancelled, "error")
    },
    Case("MISC-18", name: "a protocol loads the canonical request") {
        let session = scripted(nil, [Canonical.self]) {
            $0.answer($0.request.value(forHTTPHeaderField: "X-Canonical") ?? "no")
        }
        try equal(await session.load(try url()).summary, "200 yes", "load")
    },
    Case("MISC-18", name: "canInit(with: task) decides") {
        final class ByTask: Scripted {
            override class func canInit(with task: URLSessionTask) -> Bool { task.currentRequest?.url?.host == "host" }
            override class func canInit(with request: URLRequest) -> Bool { false }
        }
        let session = scripted(nil, [ByTask.self]) { $0.answer("own") }
        try equal(await session.load(try url()).summary, "200 own", "load")
    },
    Case("MISC-18", name: "properties of a request survive copying") {
        let request = NSMutableURLRequest(url: try url())
        URLProtocol.setProperty("value", forKey: "key", in: request)
        let session = scripted { $0.answer(URLProtocol.property(forKey: "key", in: $0.request) as? String ?? "no") }
        try equal(await session.load(request as URLRequest).summary, "200 value", "load")
        URLProtocol.removeProperty(forKey: "key", in: request)
        try check(URLProtocol.property(forKey: "key", in: request as URLRequest) == nil, "the property is still there")
    },
    Case("T-68", name: "a protocol sees the body as a stream") {
        let session = scripted { one in
            guard let stream = one.request.httpBodyStream else { return one.answer("no stream") }
            stream.open()
            var buffer = [UInt8](repeating: 0, count: 100)
            let count = stream.read(&buffer, maxLength: buffer.count)
            one.answer(String(decoding: buffer.prefix(max(count, 0)), as: UTF8.self))
        }
        try equal(await session.load(request(try url(), "POST", body: "abc")).summary, "200 abc", "load")
    },
    Case("MISC-18", "R-27", name: "a redirect of a protocol asks the delegate, and its target is loaded") {
        let recorder = Recorder()
        let target = try unwrap(URL(string: "scripted://host/new"), "URL")
        scripted(recorder) { one in
            guard let url = one.request.url else { return }
            if url == target { return one.answer("new") }
            if let response = HTTPURLResponse(url: url, statusCode: 302, httpVersion: "HTTP/1.1", headerFields: nil) {
                one.client?.urlProtocol(one, wasRedirectedTo: URLRequest(url: target), redirectResponse: response)
            }
        }.dataTask(with: try url()).resume()
        await recorder.completion()
        try equal(
            recorder.events.filter { $0 != "metrics" }, ["redirect", "response", "data", "complete"], "callbacks")
        try equal(text(recorder.seen.data), "new", "body")
    },
    Case("MISC-18", name: "a download by a protocol") {
        let recorder = Recorder()
        scripted(recorder) { $0.answer("own") }.downloadTask(with: try url()).resume()
        await recorder.completion()
        try equal(text(recorder.seen.file), "own", "file")
        try equal(recorder.seen.codes, [nil], "errors")
    },
    Case("MISC-19", name: "a protocol decides that its response is not stored") {
        let cache = makeCache()
        final class HTTP: Scripted {
            override class func canInit(with request: URLRequest) -> Bool { true }
        }
        script.value = { $0.answer("own", ["Cache-Control": "max-age=600"], .notAllowed) }
        let address = try unwrap(URL(string: "http://a.example/"), "URL")
        let session = makeSession {
            $0.protocolClasses = [HTTP.self]
            $0.urlCache = cache
        }
        _ = await session.load(address)
        await quiet(100)
        try check(cache.cachedResponse(for: URLRequest(url: address)) == nil, "stored")
    },
]
