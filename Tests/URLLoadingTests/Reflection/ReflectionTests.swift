import Foundation
import TestSupport
import Testing
import URLLoading

/// The output of `dump`, `print` and `String(reflecting:)`.
@Suite struct ReflectionTests {
    private static let secret = "hunter2"

    private static func texts(_ value: Any) -> [String] {
        var dumped = ""
        dump(value, to: &dumped)
        return [dumped, String(describing: value), String(reflecting: value)]
    }

    /// Finds bytes that are there, so that the tests below can fail.
    @Test("bytes in a dump are found") func bytes() {
        #expect(Self.shows(Self.secret.utf8, in: Self.texts(Array("a\(Self.secret)b".utf8))[0]))
    }

    // A password has no place in a log.
    @Test("no password is shown") func noPassword() throws {
        let url = try #require(URL(string: "http://user:\(Self.secret)@example.org/a"))
        let credential = URLCredential(user: "user", password: Self.secret, persistence: .forSession)
        let space = URLProtectionSpace(
            host: "example.org", port: 80, protocol: "http", realm: "r",
            authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
        let storage = URLCredentialStorage()
        storage.setDefaultCredential(credential, for: space)
        let cookie = try #require(
            HTTPCookie(properties: [.name: "a", .value: Self.secret, .domain: "example.org", .path: "/"]))
        let cookies = HTTPCookieStorage()
        cookies.setCookie(cookie)
        var request = URLRequest(url: url)
        for name in ["Authorization", "Cookie", "Proxy-Authorization", "X-Api-Key", "Private-Token", "X-Auth"] {
            request.setValue(Self.secret, forHTTPHeaderField: name)
        }
        request.mainDocumentURL = url
        request.httpMethod = "POST"
        var form = request
        form.httpBody = Data("password=\(Self.secret)".utf8)
        // `dump` writes the bytes as numbers.
        #expect(Mirror(reflecting: form).children.first { $0.label == "httpBody" }?.value as? String == "16 bytes")
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpAdditionalHeaders = ["Authorization": "Bearer \(Self.secret)"]
        configuration.connectionProxyDictionary = ["kCFProxyPasswordKey": Self.secret]
        var proxy = ProxyConfiguration(httpCONNECTProxy: .hostPort(host: "proxy.example", port: 80))
        proxy.applyCredential(username: "user", password: Self.secret)
        configuration.proxyConfigurations = [proxy]
        configuration.urlCredentialStorage = storage
        configuration.httpCookieStorage = cookies
        let session = URLSession(configuration: configuration)
        defer { session.invalidateAndCancel() }
        let challenge = URLAuthenticationChallenge(
            protectionSpace: space, proposedCredential: credential, previousFailureCount: 0, failureResponse: nil,
            error: nil, sender: Sender())
        let response = try #require(
            HTTPURLResponse(
                url: url, statusCode: 200, httpVersion: nil,
                headerFields: ["Set-Cookie": "sid=\(Self.secret)", "X-Auth-Token": Self.secret]))
        let plain = URLResponse(url: url, mimeType: nil, expectedContentLength: -1, textEncodingName: nil)
        let values: [Any] = [
            response, plain, CachedURLResponse(response: response, data: Data(Self.secret.utf8)), credential, space,
            storage, cookie, cookies, request, form, request as NSURLRequest, form as NSURLRequest, configuration,
            proxy,
            session, session.dataTask(with: request), challenge,
        ]
        for value in values {
            for text in Self.texts(value) { #expect(!text.contains(Self.secret), "\(type(of: value))") }
        }
    }

    /// Shows itself when it starts, and loads nothing.
    private final class WaitingProtocol: URLProtocol, @unchecked Sendable {
        // Sendable: it has no state of its own.
        static let current = Watched<WaitingProtocol?>(nil)

        override class func canInit(with request: URLRequest) -> Bool { request.url?.path == "/protocol" }
        override func startLoading() { Self.current.withValue { $0 = self } }
    }

    private static func request(_ url: URL) throws -> URLRequest {
        var parts = try #require(URLComponents(url: url, resolvingAgainstBaseURL: false))
        (parts.user, parts.password) = ("user", secret)
        var request = URLRequest(url: try #require(parts.url))
        request.setValue("Bearer \(secret)", forHTTPHeaderField: "Authorization")
        request.setValue("a=\(secret)", forHTTPHeaderField: "Cookie")
        return request
    }

    /// `dump` writes bytes as numbers, one in a line.
    private static func shows(_ bytes: some Sequence<UInt8>, in dumped: String) -> Bool {
        let numbers = dumped.split(separator: "\n").map { $0.split(separator: " ").last.flatMap { Int($0) } ?? -1 }
        return numbers.contains(bytes.map { Int($0) })
    }

    @Test("loads, their metrics, and what is cached show no password") func loads() async throws {
        let held = Signal("the response")
        let server = try ScriptedServer.answering { request in
            let response = CannedResponse.text(Self.secret).with(field: "Set-Cookie", "sid=\(Self.secret)")
                .with(field: "Cache-Control", "max-age=60")
            return request.path == "/held" ? response.held(until: held) : response
        }
        defer { server.stop() }
        defer { held.fire() }
        let folder = try TemporaryDirectory()
        let cache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 1 << 20, directory: folder.file("cache"))
        let delegate = RecordingDelegate()
        let session = URLSession(delegate) {
            $0.urlCache = cache
            $0.protocolClasses = [WaitingProtocol.self]
        }
        let ended = session.dataTask(with: try Self.request(server.url("/ended")))
        ended.resume()
        _ = try await delegate.calls(untilCompletions: 1)
        let metrics = try #require(delegate.metrics.events.first)
        let stored = CachedURLResponse(
            response: try #require(ended.response), data: Data(Self.secret.utf8), userInfo: nil, storagePolicy: .allowed
        )
        cache.storeCachedResponse(stored, for: try Self.request(server.url("/stored")))
        let running = session.dataTask(with: try Self.request(server.url("/held")))
        running.resume()
        let loaded = session.dataTask(with: try Self.request(server.url("/protocol")))
        loaded.resume()
        let connection = try #require(
            NSURLConnection(
                request: try Self.request(server.url("/held")), delegate: ConnectionDelegate(), startImmediately: false)
        )
        connection.setDelegateQueue(OperationQueue())
        connection.start()
        let waiting = try await WaitingProtocol.current.wait(for: "the protocol") { $0 }
        try await eventually { server.requests.count { $0.path == "/held" } == 2 }
        let values: [Any] = [
            cache, ended, metrics, metrics.transactionMetrics, running, loaded, waiting,
            URLProtocol(request: try Self.request(server.url()), cachedResponse: stored, client: nil), connection,
            session,
        ]
        for value in values {
            let texts = Self.texts(value)
            for text in texts { #expect(!text.contains(Self.secret), "\(type(of: value))") }
            #expect(!Self.shows(Self.secret.utf8, in: texts[0]), "\(type(of: value))")
        }
        connection.cancel()
        WaitingProtocol.current.withValue { $0 = nil }
        session.invalidateAndCancel()
        _ = try await delegate.callsUntilInvalid()
    }

    private final class ConnectionDelegate: NSObject, NSURLConnectionDataDelegate {}

    @Test("no private key is shown") func privateKey() throws {
        let credential = try TestCertificateAuthority().issue(.client("somebody")).credential()
        let identity = try #require(credential.identity)
        var key: SecKey?
        #expect(SecIdentityCopyPrivateKey(identity, &key) == errSecSuccess)
        let secret = try #require(key)
        let bytes = try #require(SecKeyCopyExternalRepresentation(secret, nil)) as Data
        // The private half of a key on a curve.
        let scalar = bytes.suffix(32)
        for value in [credential, identity, secret] as [Any] {
            let texts = Self.texts(value)
            for text in texts { #expect(!text.contains(scalar.base64EncodedString()), "\(type(of: value))") }
            #expect(!Self.shows(scalar, in: texts[0]), "\(type(of: value))")
        }
    }

    private final class Sender: NSObject, URLAuthenticationChallengeSender {
        func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {}
        func continueWithoutCredential(for challenge: URLAuthenticationChallenge) {}
        func cancel(_ challenge: URLAuthenticationChallenge) {}
        func performDefaultHandling(for challenge: URLAuthenticationChallenge) {}
        func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {}
    }

    @Test("values that are not secret are shown") func others() throws {
        var request = URLRequest(url: try #require(URL(string: "http://user:x@example.org/a")))
        request.setValue("text/html", forHTTPHeaderField: "Accept")
        request.setValue("x", forHTTPHeaderField: "Authorization")
        #expect(request.description == "http://user@example.org/a")
        let fields = Mirror(reflecting: request).children.first { $0.label == "allHTTPHeaderFields" }?.value
        #expect(fields as? [String: String] == ["Accept": "text/html", "Authorization": "(hidden)"])
        let credential = URLCredential(user: "user", password: "x", persistence: .forSession)
        #expect(Mirror(reflecting: credential).children.map(\.label) == ["user", "persistence", "hasPassword"])
    }
}
