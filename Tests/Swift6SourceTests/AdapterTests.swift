import TestSupport
import Testing
import URLLoading

extension URLSession {
    fileprivate func decoded<Value: Decodable>(
        _ type: Value.Type = Value.self, from url: URL, by decoder: JSONDecoder = JSONDecoder()
    ) async throws -> Value {
        let (data, response) = try await data(from: url)
        guard (response as? HTTPURLResponse)?.statusCode == 200 else { throw URLError(.badServerResponse) }
        return try decoder.decode(Value.self, from: data)
    }

    fileprivate static let api: URLSession = {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpAdditionalHeaders = ["Authorization": "Bearer x", "X-Version": 3]
        configuration.timeoutIntervalForRequest = 10
        configuration.waitsForConnectivity = true
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.urlCache = nil
        configuration.httpCookieStorage = nil
        configuration.tlsMinimumSupportedProtocolVersion = .TLSv12
        return URLSession(configuration: configuration)
    }()
}

/// Constants of a program: they must be `Sendable` to be shared.
private enum API {
    static let session = URLSession(configuration: .ephemeral)
    static let configuration = URLSessionConfiguration.default
}

private struct Endpoint: Sendable {
    var session: URLSession
    var request: URLRequest
    var handler: @Sendable (Data?, URLResponse?, (any Error)?) -> Void

    @discardableResult func start() -> URLSessionDataTask {
        let task = session.dataTask(with: request, completionHandler: handler)
        task.resume()
        return task
    }
}

/// One load for all simultaneous callers.
private actor SharedLoads {
    private var running: [URL: Task<Data, any Error>] = [:]

    func data(_ url: URL) async throws -> Data {
        if let task = running[url] { return try await task.value }
        let task = Task { try await API.session.data(from: url).0 }
        running[url] = task
        defer { running[url] = nil }
        return try await task.value
    }

    func rows(_ url: URL) async throws -> [String] {
        let (bytes, response) = try await API.session.bytes(for: URLRequest(url: url))
        let type = (response as? HTTPURLResponse)?.value(forHTTPHeaderField: "Content-Type")
        guard type?.hasPrefix("text/") == true else {
            bytes.task.cancel()
            return []
        }
        var rows: [String] = []
        for try await line in bytes.lines where !line.hasPrefix("#") { rows.append(line) }
        return rows
    }
}

private func stream(_ session: URLSession, _ request: URLRequest) -> AsyncThrowingStream<Data, any Error> {
    AsyncThrowingStream { continuation in
        let task = session.dataTask(with: request) { data, _, error in
            if let data { continuation.yield(data) }
            continuation.finish(throwing: error)
        }
        continuation.onTermination = { _ in task.cancel() }
        task.resume()
    }
}

private func bridged(_ session: URLSession, _ request: URLRequest) async throws -> (Data, URLResponse) {
    try await withCheckedThrowingContinuation { continuation in
        session.dataTask(with: request) { data, response, error in
            if let error {
                continuation.resume(throwing: error)
            } else if let data, let response {
                continuation.resume(returning: (data, response))
            }
        }.resume()
    }
}

private func waited(_ session: URLSession, _ url: URL) -> Data? {
    let result = Locked<Data?>(nil)
    let done = DispatchSemaphore(value: 0)
    session.dataTask(with: url) { data, _, _ in
        result.change { $0 = data }
        done.signal()
    }.resume()
    done.wait()
    return result.current
}

private func bodies(_ session: URLSession, _ urls: [URL]) async throws -> [URL: Data] {
    try await withThrowingTaskGroup(of: (URL, Data).self) { group in
        for url in urls {
            group.addTask { (url, try await session.data(from: url).0) }
        }
        return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
    }
}

private func post(_ quote: Quote, to url: URL, _ session: URLSession) async throws -> Quote {
    var request = URLRequest(url: url, cachePolicy: .useProtocolCachePolicy, timeoutInterval: 5)
    request.httpMethod = "POST"
    request.setValue("application/json", forHTTPHeaderField: "Content-Type")
    request.addValue("en", forHTTPHeaderField: "Accept-Language")
    request.allHTTPHeaderFields?["X-Trace"] = "1"
    request.httpBody = try JSONEncoder().encode(quote)
    let (data, _) = try await session.data(for: request)
    return try JSONDecoder().decode(Quote.self, from: data)
}

/// `import URLLoading` alone, which brings Foundation with it.
@Suite struct AdapterTests {
    private func makeServer() throws -> ScriptedServer {
        try .answering { request in
            switch request.path {
            case "/echo": .bytes(request.body).with(field: "Content-Type", "application/json")
            case "/head": .text("\(request["Authorization"] ?? "-") \(request["X-Version"] ?? "-")")
            case "/rows": .text("# head\none\n\ntwo\n")
            case "/quote": try .json(Quote(text: "one"))
            default: .text("body")
            }
        }
    }

    @Test("what programs add to URLSession") func whatProgramsAddToURLSession() async throws {
        let server = try makeServer()
        defer { server.stop() }
        #expect(try await URLSession.api.decoded(Quote.self, from: server.url("/quote")) == Quote(text: "one"))
        let quote: Quote = try await URLSession.api.decoded(from: server.url("/quote"))
        #expect(quote == Quote(text: "one"))
        #expect(try await URLSession.api.data(from: server.url("/head")).0 == Data("Bearer x 3".utf8))
        #expect(try await post(Quote(text: "é"), to: server.url("/echo"), .api) == Quote(text: "é"))
        await URLSession.api.flush()
    }

    @Test("handlers made into other things") func handlersMadeIntoOtherThings() async throws {
        let server = try makeServer()
        defer { server.stop() }
        let session = URLSession(configuration: API.configuration)
        let body = Data("body".utf8)
        let request = URLRequest(url: server.url())
        #expect(try await stream(session, request).reduce(into: []) { $0.append($1) } == [body])
        #expect(try await bridged(session, request).0 == body)
        #expect(waited(session, server.url()) == body)
        let urls = (0..<10).map { server.url("/\($0)") }
        #expect(try await bodies(session, urls) == Dictionary(uniqueKeysWithValues: urls.map { ($0, body) }))
        let signal = Signal("the handler")
        Endpoint(session: session, request: request) { data, _, _ in if data == body { signal.fire() } }.start()
        try await signal.wait()
        session.invalidateAndCancel()
    }

    @Test("an actor with a session") func anActorWithASession() async throws {
        let server = try makeServer()
        defer { server.stop() }
        let loads = SharedLoads()
        async let first = loads.data(server.url())
        async let second = loads.data(server.url())
        let both = try await [first, second]
        #expect(both == [Data("body".utf8), Data("body".utf8)])
        #expect(try await loads.rows(server.url("/rows")) == ["one", "two"])
        await API.session.flush()
    }

    @Test("cancelling, listing, progress") func cancellingListingProgress() async throws {
        let server = try ScriptedServer.answering(CannedResponse.text("x").held(until: Signal("never")))
        defer { server.stop() }
        let session = URLSession(configuration: .ephemeral)
        let load = Task { try await session.data(from: server.url()) }
        try await server.connection(0).waitForRequests(1)
        for task in await session.allTasks where task.state == .running {
            task.priority = URLSessionTask.highPriority
            task.taskDescription = "the first"
        }
        let (data, uploads, downloads) = await session.tasks
        #expect((data.map(\.taskDescription), uploads, downloads) == (["the first"], [], []))
        let whole = Progress(totalUnitCount: 1)
        for task in data { whole.addChild(task.progress, withPendingUnitCount: 1) }
        let reporting: [any ProgressReporting] = data
        #expect(reporting.map(\.progress.fractionCompleted) == [0])
        session.getAllTasks { tasks in tasks.forEach { $0.cancel() } }
        do {
            _ = try await load.value
            Issue.record("a cancelled load must fail")
        } catch {
            let error = error as NSError
            #expect((error.domain, error.code) == (NSURLErrorDomain, NSURLErrorCancelled))
            #expect(error.userInfo[NSURLErrorFailingURLErrorKey] as? URL == server.url())
        }
        session.invalidateAndCancel()
    }
}
