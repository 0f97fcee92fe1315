// swift-format-ignore-file
// Written by scripts/snippets from the README and the articles of URLLoading.docc. They must compile without a warning.
import Foundation
import URLLoading
import URLLoadingTesting

private func readme2(session: URLSession, request: URLRequest, url: URL) async throws {
    guard let url = URL(string: CommandLine.arguments.last ?? "") else { fatalError("usage: fetch URL") }

    let (data, response) = try await URLSession.shared.data(from: url)
    print((response as? HTTPURLResponse)?.statusCode ?? 0, data.count, "bytes at once")

    let (bytes, _) = try await URLSession.shared.bytes(for: URLRequest(url: url))
    for try await line in bytes.lines { print("as they came:", line) }
}

private func readme6(session: URLSession, request: URLRequest, url: URL) throws {
    final class Downloads: NSObject, URLSessionDownloadDelegate, Sendable {
        func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
            try? FileManager.default.moveItem(atPath: location.path, toPath: "/tmp/big.iso")
        }
        func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) { exit(0) }
    }
    let configuration = URLSessionConfiguration.background(withIdentifier: "downloads")
    configuration.backgroundLaunch = Bundle.main.executablePath.map { .command($0) }
    let session = URLSession(configuration: configuration, delegate: Downloads(), delegateQueue: nil)
    if URLSession.launchedBackgroundIdentifier != nil { dispatchMain() }
    session.downloadTask(with: url).resume()
    _ = configuration
    _ = session
}

private func authenticationAndPinning1(session: URLSession, request: URLRequest, url: URL) async throws {
    final class Login: NSObject, URLSessionTaskDelegate, Sendable {
        func urlSession(
            _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge
        ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
            let space = challenge.protectionSpace
            guard space.authenticationMethod == NSURLAuthenticationMethodHTTPBasic, space.receivesCredentialSecurely,
                challenge.previousFailureCount == 0
            else { return (.performDefaultHandling, nil) }
            return (.useCredential, URLCredential(user: "me", password: "secret", persistence: .forSession))
        }
    }
    let (data, _) = try await session.data(for: request, delegate: Login())
    print(data.count)
}

private func authenticationAndPinning2(session: URLSession, request: URLRequest, url: URL) throws {
    final class Pinning: NSObject, URLSessionDelegate, Sendable {
        let keys: Set<Data> = []  // the public keys that are allowed

        func urlSession(
            _ session: URLSession, didReceive challenge: URLAuthenticationChallenge
        ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
            guard let trust = challenge.protectionSpace.serverTrust else { return (.performDefaultHandling, nil) }
            guard SecTrustEvaluateWithError(trust, nil),
                let leaf = (SecTrustCopyCertificateChain(trust) as? [SecCertificate])?.first,
                let key = SecCertificateCopyKey(leaf), let bytes = SecKeyCopyExternalRepresentation(key, nil) as Data?,
                keys.contains(bytes)
            else { return (.cancelAuthenticationChallenge, nil) }
            return (.useCredential, URLCredential(trust: trust))
        }
    }
    let pinned = URLSession(configuration: .ephemeral, delegate: Pinning(), delegateQueue: nil)
    _ = pinned
}

private func authenticationAndPinning3(session: URLSession, request: URLRequest, url: URL) throws {
    let configuration = URLSessionConfiguration.default
    configuration.appTransportSecurity = [
        "NSPinnedDomains": [
            "example.org": [
                "NSIncludesSubdomains": true,
                "NSPinnedLeafIdentities": [["SPKI-SHA256-BASE64": "r/mIkG3eEpVdm+u/ko/cwxzOMo1bk4TyHIlByibiA5E="]],
            ]
        ]
    ]
    _ = configuration
}

private func authenticationAndPinning4(session: URLSession, request: URLRequest, url: URL) throws {
    func identity(from archive: Data, password: String) -> URLCredential? {
        var items: CFArray?
        let options = [kSecImportExportPassphrase as String: password]
        guard SecPKCS12Import(archive as CFData, options as CFDictionary, &items) == errSecSuccess,
            let entry = (items as? [[String: Any]])?.first,
            let identity = entry[kSecImportItemIdentity as String] as? SecIdentity
        else { return nil }
        return URLCredential(identity: identity, certificates: nil, persistence: .none)
    }
}

private func backgroundTransfers1(session: URLSession, request: URLRequest, url: URL) throws {
    final class Downloads: NSObject, URLSessionDownloadDelegate, Sendable {
        func urlSession(
            _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
        ) {
            // The file is removed when this returns.
            try? FileManager.default.moveItem(atPath: location.path, toPath: "/tmp/big.iso")
        }

        func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) { exit(0) }
    }

    let configuration = URLSessionConfiguration.background(withIdentifier: "downloads")
    configuration.backgroundLaunch = Bundle.main.executablePath.map { .command($0) }
    let downloads = URLSession(configuration: configuration, delegate: Downloads(), delegateQueue: nil)
    if URLSession.launchedBackgroundIdentifier != nil { dispatchMain() }
    downloads.downloadTask(with: url).resume()
    _ = configuration
    _ = downloads
}

private func caching1(session: URLSession, request: URLRequest, url: URL) async throws {
    func show(_ data: Data) { print(data.count) }

    var cached = URLRequest(url: url)
    cached.cachePolicy = .returnCacheDataDontLoad
    if let (data, _) = try? await session.data(for: cached) { show(data) }
    cached.cachePolicy = .reloadRevalidatingCacheData
    show(try await session.data(for: cached).0)
}

private func caching2(session: URLSession, request: URLRequest, url: URL) throws {
    let configuration = URLSessionConfiguration.default
    configuration.urlCache = URLCache(
        memoryCapacity: 16 << 20, diskCapacity: 256 << 20, directory: URL(fileURLWithPath: "/var/cache/feed"))
    _ = configuration
}

private func caching3(session: URLSession, request: URLRequest, url: URL) throws {
    final class Cautious: NSObject, URLSessionDataDelegate, Sendable {
        func urlSession(
            _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposedResponse: CachedURLResponse
        ) async -> CachedURLResponse? {
            proposedResponse.data.count < 65536 ? proposedResponse : nil
        }
    }
}

private func cookies1(session: URLSession, request: URLRequest, url: URL) throws {
    let storage = HTTPCookieStorage()  // in memory
    if let cookie = HTTPCookie(properties: [
        .name: "session", .value: "1", .domain: "example.org", .path: "/", .secure: "TRUE",
    ]) {
        storage.setCookie(cookie)
    }
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpCookieStorage = storage
    configuration.httpCookieAcceptPolicy = .onlyFromMainDocumentDomain
    for cookie in storage.cookies(for: url) ?? [] { print(cookie.name, cookie.expiresDate ?? "this session") }
    _ = storage
    _ = configuration
}

private func debugging1(session: URLSession, request: URLRequest, url: URL) throws {
    URLSession.writesTLSKeys = false
}

private func debugging2(session: URLSession, request: URLRequest, url: URL) async throws {
    final class Times: NSObject, URLSessionTaskDelegate, Sendable {
        func urlSession(
            _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
        ) {
            for transaction in metrics.transactionMetrics {
                let name = transaction.networkProtocolName ?? "-"
                let wait = transaction.responseStartDate?.timeIntervalSince(transaction.requestEndDate ?? Date()) ?? 0
                print(name, transaction.isReusedConnection ? "reused" : "new", Int(wait * 1000), "ms")
            }
        }
    }
    let (data, _) = try await session.data(for: request, delegate: Times())
    print(data.count)
}

private func logging1(session: URLSession, request: URLRequest, url: URL) throws {
    URLSession.eventHandler = { event in
        guard event.level >= .info else { return }
        print(event.date, event.message, event.attributes)
    }
}

private func logging2(session: URLSession, request: URLRequest, url: URL) throws {
    let logger = Logger(label: "network")
    URLSession.eventHandler = { event in
        let level: Logger.Level =
            switch event.level {
            case .debug: .debug
            case .info: .info
            case .warning: .warning
            case .error: .error
            }
        logger.log(level: level, "\(event.message)", metadata: event.attributes.mapValues { .string($0) })
    }
    _ = logger
}

private func logging3(session: URLSession, request: URLRequest, url: URL) throws {
    URLSession.eventHandler = { event in
        guard event.name == .transactionEnded, let host = event.attributes["server.address"] else { return }
        let status = event.attributes["http.response.status_code"] ?? "none"
        Metrics.Timer(label: "http.client.request.duration", dimensions: [("server.address", host), ("status", status)])
            .record(duration: event.elapsed)
        if let error = event.attributes["error.type"] {
            Counter(label: "http.client.errors", dimensions: [("server.address", host), ("error.type", error)]).increment()
        }
    }
}

private func logging4(session: URLSession, request: URLRequest, url: URL) throws {
    URLSession.eventHandler = { event in
        guard event.name == .transactionEnded, let method = event.attributes["http.request.method"] else { return }
        let end = UInt64(event.date.timeIntervalSince1970 * 1e9)
        let began = end - UInt64(event.elapsed / .nanoseconds(1))
        let span = startSpan(method, ofKind: .client, at: TracerTime(began))
        for (name, value) in event.attributes { span.attributes[name] = .string(value) }
        if event.attributes["error.type"] != nil { span.setStatus(SpanStatus(code: .error, message: event.message)) }
        span.end(at: TracerTime(end))
    }

    /// A time that has passed, in nanoseconds since 1970.
    struct TracerTime: TracerInstant {
        let nanosecondsSinceEpoch: UInt64

        init(_ nanoseconds: UInt64) { nanosecondsSinceEpoch = nanoseconds }

        static func < (left: TracerTime, right: TracerTime) -> Bool {
            left.nanosecondsSinceEpoch < right.nanosecondsSinceEpoch
        }
    }
}

private func movingFromAsyncHTTPClient1(session: URLSession, request: URLRequest, url: URL) async throws {
    var request = URLRequest(url: url)
    request.httpMethod = "POST"
    request.setValue("application/json", forHTTPHeaderField: "Content-Type")
    request.httpBody = Data(#"{"name": "x"}"#.utf8)
    let (bytes, response) = try await session.bytes(for: request)
    guard (response as? HTTPURLResponse)?.statusCode == 200 else { throw URLError(.badServerResponse) }
    var body = Data()
    for try await byte in bytes {
        guard body.count < 1 << 20 else { throw URLError(.dataLengthExceedsMaximum) }
        body.append(byte)
    }
    print(body.count)
}

private func proxies1(session: URLSession, request: URLRequest, url: URL) throws {
    var proxy = ProxyConfiguration(httpCONNECTProxy: .hostPort(host: "proxy.example.org", port: 3128))
    proxy.applyCredential(username: "me", password: "secret")
    proxy.excludedDomains = ["internal.example.org"]
    let configuration = URLSessionConfiguration.default
    configuration.proxyConfigurations = [proxy]
    _ = configuration
}

private func proxies2(session: URLSession, request: URLRequest, url: URL) throws {
    let configuration = URLSessionConfiguration.default
    configuration.connectionProxyDictionary = [
        kCFNetworkProxiesProxyAutoConfigEnable as String: true,
        kCFNetworkProxiesProxyAutoConfigURLString as String: "http://wpad.example.org/proxy.pac",
    ]
    _ = configuration
}

private func testing1(session: URLSession, request: URLRequest, url: URL) async throws {
    let server = try TestServer()
    server.enqueue(try TestResponse(json: ["name": "Ada"]))
    server.enqueue(TestResponse(status: 503, text: "later").with(field: "Retry-After", "1"))

    let tested = URLSession(configuration: server.configuration())
    let (data, _) = try await tested.data(from: URL(string: "https://api.example.com/users/1")!)
    let request = try await server.nextRequest()
    print(request.method, request.target, request["Accept"] ?? "-", data.count)
    server.stop()
    _ = server
    _ = tested
    _ = request
}

private func testing2(session: URLSession, request: URLRequest, url: URL) async throws {
    let server = try TestServer()
    server.handler = { request in
        if request.target == "/slow" { try await Task.sleep(for: .seconds(1)) }
        return TestResponse(text: request.target)
    }
    server.stop()
    _ = server
}

private func testing3(session: URLSession, request: URLRequest, url: URL) async throws {
    let server = try TestServer()
    server.enqueue(
        .webSocket { socket in
            while let message = try await socket.receive() { try await socket.send(message) }
        })
    let task = URLSession(configuration: server.configuration()).webSocketTask(with: url)
    task.resume()
    try await task.send(.string("hello"))
    print(try await task.receive())
    server.stop()
    _ = server
    _ = task
}

private func testing4(session: URLSession, request: URLRequest, url: URL) async throws {
    final class Canned: URLProtocol, @unchecked Sendable {
        override class func canInit(with request: URLRequest) -> Bool { request.url?.host == "api.example.org" }
        override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

        override func startLoading() {
            guard let url = request.url,
                let response = HTTPURLResponse(
                    url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: ["Content-Type": "text/plain"])
            else { return }
            client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
            client?.urlProtocol(self, didLoad: Data("hello".utf8))
            client?.urlProtocolDidFinishLoading(self)
        }

        override func stopLoading() {}
    }

    let configuration = URLSessionConfiguration.ephemeral
    configuration.protocolClasses = [Canned.self]
    let tested = URLSession(configuration: configuration)
    let (data, _) = try await tested.data(from: url)
    print(String(decoding: data, as: UTF8.self))
    tested.finishTasksAndInvalidate()
    _ = configuration
    _ = tested
}

private func testing5(session: URLSession, request: URLRequest, url: URL) async throws {
    func title(of url: URL, from load: (URL) async throws -> (Data, URLResponse)) async throws -> String {
        String(decoding: try await load(url).0.prefix(80), as: UTF8.self)
    }
    print(try await title(of: url) { try await session.data(from: $0) })
    print(
        try await title(of: url) { url in
            let response = URLResponse(url: url, mimeType: nil, expectedContentLength: 6, textEncodingName: nil)
            return (Data("canned".utf8), response)
        })
}

private func landingPage1(session: URLSession, request: URLRequest, url: URL) async throws {
    let (data, response) = try await URLSession.shared.data(from: url)
    print((response as? HTTPURLResponse)?.statusCode ?? 0, data.count)

    let (bytes, _) = try await URLSession.shared.bytes(for: URLRequest(url: url))
    for try await line in bytes.lines { print(line) }
}

private func webSockets1(session: URLSession, request: URLRequest, url: URL) async throws {
    let task = session.webSocketTask(with: url)
    task.pingInterval = 20
    task.resume()
    try await task.send(.string("hello"))
    for try await message in task.messages {
        switch message {
        case .string(let text): print(text)
        case .data(let data): print(data.count, "bytes")
        }
        if task.closeCode != .invalid { break }
    }
    task.cancel(with: .normalClosure, reason: nil)
    _ = task
}
