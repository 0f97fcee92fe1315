import Foundation
import LoadingPipeline
import LoadingSemantics
import TestSupport
import Testing
import URLLoading

/// HSTS (RFC 6797): the header field, and later loads.
@Suite(.leavesNothing) struct StrictTransportSecurityWireTests {
    /// Responds with the HSTS field of the query, and with the received cookies.
    private static func answer(_ request: ReceivedRequest) -> CannedResponse {
        var response = CannedResponse.text("\(request.path) \(request["Cookie"] ?? "-")")
        switch request.path {
        case "/redirect":
            response = .redirect(to: "http://" + (request["Host"] ?? "") + "/end")
        case "/missing": response = .status(404)
        case "/set": response = response.with(field: "Set-Cookie", "a=b; Secure; Path=/")
        case "/kept": response = response.with(field: "Cache-Control", "max-age=1000")
        default: break
        }
        guard let policy = request.query?.removingPercentEncoding else { return response }
        return response.with(field: "Strict-Transport-Security", policy)
    }

    private static let names: [CertificateProfile.Name] = [
        "localhost", "127.0.0.1", "a.localhost", "b.a.localhost", "other.localhost",
    ]

    private func server(_ options: TLSServerOptions? = nil) throws -> ScriptedServer {
        let usual = try TrustedAuthority.server(.localhost.with { $0.names = Self.names })
        return try .answering(tls: options ?? usual) { Self.answer($0) }
    }

    private func url(
        _ server: ScriptedServer, _ path: String = "/", scheme: String = "https", host: String = "localhost",
        saying policy: String? = nil
    ) throws -> URL {
        let query = policy?.addingPercentEncoding(withAllowedCharacters: .alphanumerics).map { "?" + $0 } ?? ""
        return try #require(URL(string: "\(scheme)://\(host):\(server.port)\(path)\(query)"))
    }

    /// The scheme with which an http URL is loaded.
    private func scheme(_ server: ScriptedServer, host: String = "localhost", in session: URLSession) async throws
        -> String?
    {
        let ended = Signal("the end")
        let task = session.dataTask(with: try url(server, scheme: "http", host: host)) { _, _, _ in ended.fire() }
        task.resume()
        try await ended.wait()
        return task.currentRequest?.url?.scheme
    }

    // TLS-7, R-22, RFC 6797 §8.3: the upgrade and how it shows
    @Test("a host with HSTS is loaded over https") func aHostWithHSTS() async throws {
        let server = try server()
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        let first = session.dataTask(with: try url(server, saying: "max-age=1000"))
        first.resume()
        _ = try await delegate.calls(untilCompletions: 1)
        let plain = try url(server, "/x%20y", scheme: "HTTP", host: "LocalHost")
        let secure = try #require(URL(string: "https" + plain.absoluteString.dropFirst(4)))
        let task = session.dataTask(with: plain)
        task.resume()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(calls.filter { if case .redirect = $0 { true } else { false } } == [])
        #expect(calls.contains(.data(2, "/x%20y -")))
        #expect(calls.contains(.completed(2, nil)))
        #expect(task.originalRequest?.url == plain)
        #expect(task.currentRequest?.url == secure)
        #expect(task.response?.url == secure)
        let metrics = try #require(delegate.metrics.events.last)
        #expect(metrics.redirectCount == 0)
        #expect(metrics.transactionMetrics.map(\.request.url) == [secure])
        #expect(server.connectionCount == 1)
    }

    // TLS-7: which kind of task makes no difference
    @Test("uploads and downloads") func uploadsAndDownloads() async throws {
        let server = try server()
        defer { server.stop() }
        let session = URLSession { _ in }
        defer { session.invalidateAndCancel() }
        _ = try await session.data(from: url(server, saying: "max-age=1000"))
        let plain = try url(server, "/there", scheme: "http")
        let request = URLRequest(url: plain).with { $0.httpMethod = "PUT" }
        #expect(try await session.upload(for: request, from: Data("x".utf8)).1.url?.scheme == "https")
        let (file, response) = try await session.download(from: plain)
        try FileManager.default.removeItem(at: file)
        #expect(response.url?.scheme == "https")
        #expect(server.requests.map(\.method) == ["GET", "PUT", "GET"])
        #expect(server.requests[1].bodyText == "x")
    }

    // TLS-7, RES-14: the requests that an upload goes on with are made secure like any other
    @Test("an upload to a host that becomes known meanwhile continues with https")
    func anUploadGoesOnSecurely() async throws {
        let body = Data([UInt8].pattern(count: 500_000))
        let hosts = HSTSStore(suffixes: .topLevelDomains, preload: HSTSPreload())
        let secure = try TLSServer(TrustedAuthority.server(.localhost.with { $0.names = Self.names }))
        let server = try ScriptedServer { connection in
            if connection.index == 0 {
                _ = try connection.readRequestHead()
                try connection.send(
                    "HTTP/1.1 104 X\r\nUpload-Draft-Interop-Version: 8\r\nLocation: /uploads/0\r\n\r\n")
                _ = try connection.receive(exactly: 100_000)
                try hosts.noteHost("localhost")
                return connection.reset()
            }
            try connection.startTLS(secure)
            let head = try connection.readRequestHead()
            let rest = try connection.readBody(of: head)
            try connection.send(
                head.method == "HEAD"
                    ? "HTTP/1.1 204 X\r\nUpload-Offset: 100000\r\nUpload-Complete: ?0\r\nConnection: close\r\n\r\n"
                    : "HTTP/1.1 200 X\r\nContent-Length: 0\r\nX-Rest: \(rest.body.count)\r\nConnection: close\r\n\r\n")
        }
        defer { server.stop() }
        let session = URLSession { $0.hsts = hosts }
        defer { session.invalidateAndCancel() }
        let request = URLRequest(url: server.url(host: "localhost")).with { $0.httpMethod = "POST" }
        let response = try await session.upload(for: request, from: body).1 as? HTTPURLResponse
        #expect(response?.statusCode == 200)
        #expect(response?.value(forHTTPHeaderField: "X-Rest") == "400000")
        #expect(server.requests.map { "\($0.method) \($0.path)" } == ["POST /", "HEAD /uploads/0", "PATCH /uploads/0"])
        #expect(server.connections.map { $0.handshake != nil } == [false, true, true])
    }

    // TLS-7, RFC 6797 §8.3
    @Test("a request that waits for its cookies while its host becomes known is secure")
    func aHostThatBecomesKnownDuringAWait() async throws {
        final class Cookies: HTTPCookieStorage, @unchecked Sendable {
            let hosts = HSTSStore(suffixes: .topLevelDomains, preload: HSTSPreload())
            let asked = EventRecorder<String>()

            override func getCookiesFor(
                _ task: URLSessionTask, completionHandler: @escaping @Sendable ([HTTPCookie]?) -> Void
            ) {
                asked.record(task.currentRequest?.url?.scheme ?? "")
                try? hosts.noteHost("localhost")
                completionHandler(nil)
            }
        }
        let server = try server()
        defer { server.stop() }
        let cookies = Cookies()
        let session = URLSession {
            $0.httpCookieStorage = cookies
            $0.hsts = cookies.hosts
        }
        defer { session.invalidateAndCancel() }
        let (data, response) = try await session.data(from: url(server, scheme: "http"))
        #expect(String(decoding: data, as: UTF8.self) == "/ -")
        #expect(try response.url == url(server))
        #expect(cookies.asked.events == ["http", "https"])
    }

    // TLS-7, RFC 6797 §8.3
    @Test("a request that is suspended before it is sent, while its host becomes known, is secure")
    func aHostThatBecomesKnownDuringASuspension() async throws {
        /// Suspends the first task before it has its cookies.
        final class Cookies: HTTPCookieStorage, @unchecked Sendable {
            let answered = Signal("the suspended task has its cookies")

            override func getCookiesFor(
                _ task: URLSessionTask, completionHandler: @escaping @Sendable ([HTTPCookie]?) -> Void
            ) {
                let isFirst = task.currentRequest?.url?.scheme == "http"
                if isFirst { task.suspend() }
                completionHandler(nil)
                if isFirst { answered.fire() }
            }
        }
        let server = try server()
        defer { server.stop() }
        let (cookies, hosts) = (Cookies(), HSTSStore(suffixes: .topLevelDomains, preload: HSTSPreload()))
        let session = URLSession {
            $0.httpCookieStorage = cookies
            $0.hsts = hosts
        }
        defer { session.invalidateAndCancel() }
        let ended = Signal("the end")
        let task = session.dataTask(with: try url(server, scheme: "http")) { _, _, _ in ended.fire() }
        task.resume()
        try await cookies.answered.wait()
        // What was posted to the loop before has been done when this one ends.
        _ = try await session.data(from: url(server, "/other"))
        try hosts.noteHost("localhost")
        task.resume()
        try await ended.wait()
        #expect(task.error == nil)
        #expect(try task.response?.url == url(server))
    }

    // TLS-7, RFC 6797 §8.3
    @Test("a request whose host becomes known while it waits for a connection is secure")
    func aHostThatBecomesKnownInTheQueue() async throws {
        let hosts = HSTSStore(suffixes: .topLevelDomains, preload: HSTSPreload())
        let secure = try TLSServer(TrustedAuthority.server(.localhost.with { $0.names = Self.names }))
        let (isAsked, mayAnswer) = (Signal("the first request"), Signal("the first response"))
        let server = try ScriptedServer { connection in
            if connection.index > 0 { try connection.startTLS(secure) }
            while let request = try connection.nextRequest() {
                if connection.index == 0 {
                    isAsked.fire()
                    try connection.wait(for: mayAnswer)
                }
                try connection.send(CannedResponse.text(request.path), to: request)
            }
        }
        defer { server.stop() }
        let other = try ScriptedServer.answering(.text("other"))
        defer { other.stop() }
        let session = URLSession {
            $0.hsts = hosts
            ($0.httpCookieStorage, $0.urlCache, $0.httpMaximumConnectionsPerHost) = (nil, nil, 1)
        }
        defer { session.invalidateAndCancel() }
        let first = session.dataTask(with: server.url("/first", host: "localhost"))
        first.resume()
        try await isAsked.wait()
        let ended = Signal("the second end")
        let second = session.dataTask(with: server.url("/second", host: "localhost")) { _, _, _ in ended.fire() }
        second.resume()
        // The second one is in the queue when this one, which was begun after it, has ended.
        _ = try await session.data(from: other.url())
        try hosts.noteHost("localhost")
        mayAnswer.fire()
        try await ended.wait()
        #expect(second.error == nil)
        #expect(second.response?.url?.scheme == "https")
        #expect(server.connections.map { $0.handshake != nil } == [false, true])
    }

    /// A store that gets to know localhost between the first and the second look-up of a load.
    private final class LateKnowledge: Sendable {
        /// Nil before the load.
        private let lookups = Watched<Int?>(nil)
        private let made = Watched<HSTSStore?>(nil)

        /// `end` releases it.
        func begin() throws -> HSTSStore {
            // The clock is read by each look-up, if the store is not empty.
            let hosts = HSTSStore(suffixes: .topLevelDomains, preload: HSTSPreload()) { [self] in
                let isSecond = lookups.withValue { (count: inout Int?) -> Bool in
                    guard let before = count else { return false }
                    count = before + 1
                    return before == 1
                }
                if isSecond, let hosts = made.current { try? hosts.noteHost("localhost") }
                return 0
            }
            try hosts.noteHost("other.localhost")
            made.withValue { $0 = hosts }
            return hosts
        }

        func countLookups() { lookups.withValue { $0 = 0 } }

        func end() { made.withValue { $0 = nil } }
    }

    // TLS-7, RFC 6797 §8.3: the facts of a file are read on another thread
    @Test("an upload whose host becomes known while its file is looked at is secure")
    func aHostThatBecomesKnownWhileAFileIsLookedAt() async throws {
        let server = try server()
        defer { server.stop() }
        let late = LateKnowledge()
        let hosts = try late.begin()
        defer { late.end() }
        let folder = try TemporaryDirectory()
        let file = folder.file("body")
        try Data("x".utf8).write(to: file)
        let session = URLSession { $0.hsts = hosts }
        defer { session.invalidateAndCancel() }
        let request = URLRequest(url: try url(server, scheme: "http")).with { $0.httpMethod = "PUT" }
        late.countLookups()
        let response = try await session.upload(for: request, fromFile: file).1
        withExtendedLifetime(folder) {}
        #expect(try response.url == url(server))
        #expect(server.requests.map(\.bodyText) == ["x"])
    }

    // TLS-7, AUTH-18, RFC 6797 §8.3: the loop does other work while a large body is hashed
    @Test("a request whose host becomes known while its body is hashed is secure")
    func aHostThatBecomesKnownWhileABodyIsHashed() async throws {
        let digestAuth = DigestAuthResponder(DigestAuthResponder.Rules(algorithm: "SHA-256", qop: "auth-int"))
        let secure = try TLSServer(TrustedAuthority.server())
        let server = try ScriptedServer { connection in
            if connection.index > 0 { try connection.startTLS(secure) }
            while let request = try connection.nextRequest() {
                try connection.send(connection.index > 0 ? .text("in") : digestAuth.answer(request), to: request)
            }
        }
        defer { server.stop() }
        let late = LateKnowledge()
        let hosts = try late.begin()
        defer { late.end() }
        let delegate = RecordingDelegate()
        delegate.challenge = { challenge, reply in
            guard challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodHTTPDigest else {
                return reply(.performDefaultHandling, nil)
            }
            reply(.useCredential, URLCredential("Mufasa", "Circle of Life"))
        }
        let session = URLSession(delegate) { $0.hsts = hosts }
        defer { session.invalidateAndCancel() }
        let plain = try url(server, scheme: "http")
        _ = try await session.data(from: plain)
        let request = URLRequest(url: plain).with {
            $0.httpMethod = "POST"
            $0.httpBody = Data(repeating: 1, count: 100_000)
        }
        late.countLookups()
        let response = try await session.data(for: request).1
        #expect(try response.url == url(server))
        #expect(digestAuth.verdicts.events == ["-", "/ 00000001 n1"])
        #expect(server.requests.last?["Authorization"] == nil)
    }

    // RFC 6797 §8.1: any response counts, whatever its status
    @Test("which responses set HSTS", arguments: ["/", "/missing", "/redirect"])
    func whichResponsesSetHSTS(path: String) async throws {
        let server = try server()
        defer { server.stop() }
        let session = URLSession { _ in }
        defer { session.invalidateAndCancel() }
        _ = try await session.data(from: url(server, path, saying: "max-age=1000"))
        #expect(session.configuration.hsts.records.map(\.host) == ["localhost"])
        #expect(try await scheme(server, in: session) == "https")
        // Its own policy is the last word.
        _ = try await session.data(from: url(server, saying: "max-age=0"))
        #expect(session.configuration.hsts.records == [])
        #expect(try await scheme(server, in: session) == "http")
    }

    // RFC 6797 §8.1: a field that comes in the clear says nothing
    @Test("a response in the clear") func aResponseInTheClear() async throws {
        let server = try ScriptedServer.answering { Self.answer($0) }
        defer { server.stop() }
        let session = URLSession { _ in }
        defer { session.invalidateAndCancel() }
        _ = try await session.data(from: url(server, scheme: "http", saying: "max-age=1000"))
        #expect(session.configuration.hsts.records == [])
        #expect(try await scheme(server, in: session) == "http")
    }

    // TLS-7, RFC 6797 §8.1.1
    @Test("an address is never known") func anAddressIsNeverKnown() async throws {
        let server = try server()
        defer { server.stop() }
        let session = URLSession { _ in }
        defer { session.invalidateAndCancel() }
        _ = try await session.data(from: url(server, host: "127.0.0.1", saying: "max-age=1000"))
        #expect(session.configuration.hsts.records == [])
        #expect(try await scheme(server, host: "127.0.0.1", in: session) == "http")
    }

    // RFC 6797 §8.1: trust that a delegate gave in spite of an error is an error
    @Test("a server that a delegate trusts", arguments: [true, false], [true, false])
    func aServerThatADelegateTrusts(isKnown: Bool, isEvaluated: Bool) async throws {
        _ = try TrustedAuthority.authority
        let authority = try isKnown ? TrustedAuthority.authority : TestCertificateAuthority()
        let root = authority.root.der
        let options = try TLSServerOptions(authority: authority)
        let server = try server(options)
        defer { server.stop() }
        let session = URLSession { _ in }
        defer { session.invalidateAndCancel() }
        // What it overlooks, if anything.
        let log = ChallengeLog { challenge, reply in
            guard let trust = challenge.protectionSpace.serverTrust else { return reply(.performDefaultHandling, nil) }
            if !isKnown, isEvaluated, let anchor = SecCertificateCreateWithData(nil, Data(root) as CFData) {
                _ = SecTrustSetAnchorCertificates(trust, [anchor] as CFArray)
            }
            if isEvaluated { #expect(SecTrustEvaluateWithError(trust, nil)) }
            reply(.useCredential, URLCredential(trust: trust))
        }
        let delegate = TaskLevelDelegate(log)
        let policy = try url(server, saying: "max-age=1000")
        _ = try await session.data(for: URLRequest(url: policy), delegate: delegate)
        // A host becomes known only after the default evaluation of its certificate.
        #expect(session.configuration.hsts.records.count == (isKnown && isEvaluated ? 1 : 0))
    }

    // RFC 6797 §8.1, TLS-10: without the server's own response about revocation it is not the default evaluation
    @Test("a server whose revocation a delegate removes", arguments: [false, true])
    func aServerWhoseRevocationADelegateRemoves(isCopied: Bool) async throws {
        let authority = try TrustedAuthority.authority
        let options = try TLSServerOptions(authority: authority).with {
            $0.ocspResponse = try authority.ocspResponse(for: $0.identity.certificate, status: .revoked)
        }
        let server = try server(options)
        defer { server.stop() }
        let session = URLSession { _ in }
        defer { session.invalidateAndCancel() }
        let log = ChallengeLog { challenge, reply in
            guard let trust = challenge.protectionSpace.serverTrust else { return reply(.performDefaultHandling, nil) }
            #expect(!SecTrustEvaluateWithError(trust, nil))
            if isCopied {
                var copy: SecTrust?
                let host = challenge.protectionSpace.host as CFString
                #expect(
                    SecTrustCreateWithCertificates(
                        SecTrustCopyCertificateChain(trust) ?? NSArray(), SecPolicyCreateSSL(true, host), &copy)
                        == errSecSuccess)
                guard let copy else { return reply(.cancelAuthenticationChallenge, nil) }
                #expect(SecTrustEvaluateWithError(copy, nil))
                return reply(.useCredential, URLCredential(trust: copy))
            }
            #expect(SecTrustSetOCSPResponse(trust, nil) == errSecSuccess)
            #expect(SecTrustEvaluateWithError(trust, nil))
            reply(.useCredential, URLCredential(trust: trust))
        }
        let policy = try url(server, saying: "max-age=1000")
        _ = try await session.data(for: URLRequest(url: policy), delegate: TaskLevelDelegate(log))
        #expect(session.configuration.hsts.records == [])
    }

    // RFC 6797 §8.2
    @Test("subdomains", arguments: [true, false]) func subdomains(areIncluded: Bool) async throws {
        let server = try server()
        defer { server.stop() }
        let session = URLSession { _ in }
        defer { session.invalidateAndCancel() }
        let policy = "max-age=1000" + (areIncluded ? "; includeSubDomains" : "")
        _ = try await session.data(from: url(server, host: "a.localhost", saying: policy))
        #expect(try await scheme(server, host: "a.localhost", in: session) == "https")
        #expect(try await scheme(server, host: "b.a.localhost", in: session) == (areIncluded ? "https" : "http"))
        #expect(try await scheme(server, in: session) == "http")
        #expect(try await scheme(server, host: "other.localhost", in: session) == "http")
    }

    // RFC 6797 §8.1, §11.2
    @Test("the time is over") func theTimeIsOver() async throws {
        let server = try server()
        defer { server.stop() }
        let now = Watched<Int64>(1_000_000)
        let session = URLSession { $0.hsts = HSTSStore(suffixes: .topLevelDomains) { now.current } }
        defer { session.invalidateAndCancel() }
        _ = try await session.data(from: url(server, saying: "max-age=10"))
        now.withValue { $0 += 9 }
        #expect(try await scheme(server, in: session) == "https")
        now.withValue { $0 += 1 }
        #expect(try await scheme(server, in: session) == "http")
        // Each response begins anew.
        _ = try await session.data(from: url(server, saying: "max-age=10"))
        now.withValue { $0 += 9 }
        #expect(try await scheme(server, in: session) == "https")
    }

    // TLS-7, RFC 6797 §12.3
    @Test("hosts that are known before") func hostsThatAreKnownBefore() async throws {
        let server = try server()
        defer { server.stop() }
        let session = URLSession {
            $0.hsts = HSTSStore(suffixes: .topLevelDomains, preload: HSTSPreload(["localhost"]))
        }
        defer { session.invalidateAndCancel() }
        #expect(try await scheme(server, host: "a.localhost", in: session) == "https")
        #expect(try await scheme(server, in: session) == "http")
        await session.reset()
        #expect(try await scheme(server, host: "a.localhost", in: session) == "https")
        #expect(URLSessionConfiguration.ephemeral.hsts.covers("get.app"))
        #expect(URLSessionConfiguration.default.hsts.covers("my.dev."))
        #expect(!URLSessionConfiguration.default.hsts.covers("app"))
    }

    // R-22, S-58: the delegate is asked about what would be loaded, and whatever it answers is made secure
    @Test("redirects", arguments: [nil, "https", "http"]) func redirects(answered: String?) async throws {
        let server = try server()
        defer { server.stop() }
        let target = try url(server, "/end")
        let delegate = RecordingDelegate()
        if let answered {
            delegate.redirect = { request, reply in
                let text = answered + "://localhost:\(server.port)/answered"
                reply(request.with { $0.url = URL(string: text) })
            }
        }
        let session = URLSession(delegate)
        let task = session.dataTask(with: try url(server, "/redirect", saying: "max-age=1000"))
        task.resume()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(delegate.proposed.events.map(\.url) == [target])
        #expect(calls.contains(.completed(1, nil)))
        let path = answered == nil ? "/end" : "/answered"
        #expect(task.currentRequest?.url?.absoluteString == "https://localhost:\(server.port)\(path)")
        #expect(server.requests.map(\.path) == ["/redirect", path])
        let metrics = try #require(delegate.metrics.events.last)
        #expect(metrics.redirectCount == 1)
        #expect(metrics.transactionMetrics.map(\.request.url?.scheme) == ["https", "https"])
    }

    // R-22: without a redirect callback
    @Test("a redirect without a delegate") func aRedirectWithoutADelegate() async throws {
        let server = try server()
        defer { server.stop() }
        let session = URLSession { _ in }
        defer { session.invalidateAndCancel() }
        let response = try await session.data(from: url(server, "/redirect", saying: "max-age=1000")).1
        #expect(try response.url == url(server, "/end"))
    }

    // TLS-7, COOK-20, CACHE-1: cookies and cache are those of the secure address
    @Test("cookies and stored responses") func cookiesAndStoredResponses() async throws {
        let server = try server()
        defer { server.stop() }
        let session = URLSession { _ in }
        defer { session.invalidateAndCancel() }
        _ = try await session.data(from: url(server, "/set", saying: "max-age=1000"))
        func text(_ path: String, _ scheme: String) async throws -> String {
            String(decoding: try await session.data(from: url(server, path, scheme: scheme)).0, as: UTF8.self)
        }
        #expect(try await text("/", "http") == "/ a=b")
        #expect(try await text("/kept", "https") == "/kept a=b")
        #expect(try await text("/kept", "http") == "/kept a=b")
        #expect(server.requests.map(\.path) == ["/set", "/", "/kept"])
    }

    // TLS-1, TLS-7: what is upgraded is not in the clear
    @Test("under App Transport Security") func underAppTransportSecurity() async throws {
        let server = try server()
        defer { server.stop() }
        let session = URLSession { $0.appTransportSecurity = [:] }
        defer { session.invalidateAndCancel() }
        _ = try await session.data(from: url(server, host: "a.localhost", saying: "max-age=1000"))
        _ = try await session.data(from: url(server, scheme: "http", host: "a.localhost"))
        let error = await #expect(throws: URLError.self) {
            _ = try await session.data(from: url(server, scheme: "http", host: "other.localhost"))
        }
        #expect(error?.code == .appTransportSecurityRequiresSecureConnection)
    }

    // TLS-7, S-18, S-19, C-34: which sessions know a host
    @Test("sessions that share HSTS hosts") func sessionsThatShareHSTSHosts() async throws {
        let server = try server()
        defer { server.stop() }
        let configuration = URLSessionConfiguration.ephemeral
        let copy = try #require(configuration.copy() as? URLSessionConfiguration)
        let (own, same, copied) = (
            URLSession(configuration: configuration), URLSession(configuration: configuration),
            URLSession(configuration: copy)
        )
        let again = URLSession(configuration: own.configuration)
        let other = URLSession(configuration: .ephemeral)
        // A name of its own, since these know what others have learnt.
        let common = "common.localhost"
        let standard = URLSession(configuration: .default)
        let second = URLSession(configuration: .default)
        defer {
            for session in [own, same, copied, again, other, standard, second] { session.invalidateAndCancel() }
            standard.configuration.hsts.removeAll()
        }
        _ = try await own.data(from: url(server, host: "a.localhost", saying: "max-age=1000"))
        for session in [own, same, copied, again] {
            #expect(try await scheme(server, host: "a.localhost", in: session) == "https")
        }
        for session in [other, standard, URLSession.shared] {
            #expect(try await scheme(server, host: "a.localhost", in: session) == "http")
        }
        let options = try TrustedAuthority.server(.server(.dns(common)))
        let commonServer = try self.server(options)
        defer { commonServer.stop() }
        _ = try await standard.data(from: url(commonServer, host: common, saying: "max-age=1000"))
        for session in [standard, second, URLSession.shared] {
            #expect(try await scheme(commonServer, host: common, in: session) == "https")
        }
        for session in [own, other] { #expect(try await scheme(commonServer, host: common, in: session) == "http") }
        #expect(own.configuration.hsts !== URLSessionConfiguration.ephemeral.hsts)
    }

    // S-19: ephemeral data ends with its configuration
    @Test("ephemeral HSTS hosts end with their configuration") func whatIsEphemeralEnds() {
        weak var hosts: HSTSStore?
        do {
            let configuration = URLSessionConfiguration.ephemeral
            hosts = configuration.hsts
            #expect(hosts === configuration.hsts)
        }
        #expect(hosts == nil)
    }

    // S-89, RFC 6797 §12.5
    @Test("reset forgets") func resetForgets() async throws {
        let server = try server()
        defer { server.stop() }
        let session = URLSession { _ in }
        defer { session.invalidateAndCancel() }
        _ = try await session.data(from: url(server, saying: "max-age=1000"))
        await session.flush()
        #expect(try await scheme(server, in: session) == "https")
        await session.reset()
        #expect(session.configuration.hsts.records == [])
        #expect(try await scheme(server, in: session) == "http")
    }

    // TLS-4, RFC 6797 §8.4: the error cannot be overridden by default
    @Test("a known host with an invalid certificate") func aKnownHostWithAnInvalidCertificate() async throws {
        let good = try server()
        defer { good.stop() }
        let bad = try server(try TLSServerOptions(authority: TestCertificateAuthority()))
        defer { bad.stop() }
        let session = URLSession { _ in }
        defer { session.invalidateAndCancel() }
        _ = try await session.data(from: url(good, saying: "max-age=1000"))
        let plain = try url(bad, scheme: "http")
        let error = await #expect(throws: URLError.self) { _ = try await session.data(from: plain) }
        #expect(error?.code == .serverCertificateHasUnknownRoot)
        #expect(error?.failingURL?.scheme == "https")
        // But a delegate may accept any certificate (AUTH-30).
        _ = try await session.data(for: URLRequest(url: plain), delegate: TaskLevelDelegate(.trusting()))
    }
}
