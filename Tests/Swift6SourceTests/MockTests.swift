import Foundation
import FoundationNetworking
import TestSupport
import Testing

/// The seams at which programs put something else in the place of a session.
private protocol HTTPClient: Sendable {
    func data(for request: URLRequest) async throws -> (Data, URLResponse)
    func data(from url: URL) async throws -> (Data, URLResponse)
}

extension URLSession: HTTPClient {}

private protocol HTTPClientWithDelegate {
    func data(for request: URLRequest, delegate: (any URLSessionTaskDelegate)?) async throws -> (Data, URLResponse)
    func bytes(
        for request: URLRequest, delegate: (any URLSessionTaskDelegate)?
    ) async throws -> (URLSession.AsyncBytes, URLResponse)
}

extension URLSession: HTTPClientWithDelegate {}

private protocol TaskMaker: AnyObject {
    func dataTask(
        with url: URL, completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDataTask
    func invalidateAndCancel()
}

extension URLSession: TaskMaker {}

private struct CannedClient: HTTPClient {
    var body: String

    func data(for request: URLRequest) async throws -> (Data, URLResponse) {
        guard let url = request.url,
            let response = HTTPURLResponse(
                url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: ["ETag": "x"])
        else { throw URLError(.badURL) }
        return (Data(body.utf8), response)
    }

    func data(from url: URL) async throws -> (Data, URLResponse) {
        try await data(for: URLRequest(url: url))
    }
}

/// A task that never goes near a network. Its initializer calls a deprecated one, as on Apple platforms.
private final class CannedTask: URLSessionDataTask, @unchecked Sendable {
    // Sendable because what varies is behind a lock.
    private let answer: @Sendable () -> Void
    private let isCancelled = Locked(false)

    init(answer: @escaping @Sendable () -> Void) {
        self.answer = answer
    }

    override func resume() { answer() }
    override func cancel() { isCancelled.change { $0 = true } }
    override var state: URLSessionTask.State { isCancelled.current ? .canceling : .running }
    override var taskIdentifier: Int { 7 }
}

private final class CannedSession: URLSession, @unchecked Sendable {
    // Sendable because what varies is behind a lock.
    let asked = Locked<[URL]>([])

    override init() { super.init() }

    override func dataTask(
        with url: URL, completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDataTask {
        asked.change { $0.append(url) }
        return CannedTask { completionHandler(Data("canned".utf8), nil, nil) }
    }
}

/// Overrides what loads without a handler.
private final class AsynchronousSession: URLSession, @unchecked Sendable {
    // Sendable because what varies is behind a lock.
    let asked = Locked<[String]>([])
    private let body = Data("canned".utf8)

    override init() { super.init() }

    private func answer(_ call: String) -> (Data, URLResponse) {
        asked.change { $0.append(call) }
        return (body, URLResponse())
    }

    override func data(for request: URLRequest) async throws -> (Data, URLResponse) { answer("data for") }
    override func data(from url: URL) async throws -> (Data, URLResponse) { answer("data from") }

    override func upload(for request: URLRequest, from bodyData: Data) async throws -> (Data, URLResponse) {
        answer("upload \(bodyData.count)")
    }

    override func upload(for request: URLRequest, fromFile fileURL: URL) async throws -> (Data, URLResponse) {
        answer("upload \(fileURL.path)")
    }

    override func download(for request: URLRequest) async throws -> (URL, URLResponse) {
        (URL(fileURLWithPath: "/for"), answer("download for").1)
    }

    override func download(from url: URL) async throws -> (URL, URLResponse) {
        (URL(fileURLWithPath: "/from"), answer("download from").1)
    }

    override func download(resumeFrom resumeData: Data) async throws -> (URL, URLResponse) {
        (URL(fileURLWithPath: "/resumed"), answer("download resumed").1)
    }
}

/// One that has all its values from the beginning inherits the initializers.
private final class SilentSession: URLSession, @unchecked Sendable {
    override func dataTask(with request: URLRequest) -> URLSessionDataTask { CannedTask {} }
}

/// The doubles that tests make of objects which the session makes otherwise.
private final class FreshSpace: URLProtectionSpace, @unchecked Sendable {
    override init() { super.init() }
    required init?(coder: NSCoder) { nil }
    override var host: String { "example.org" }
}

private final class NoCache: URLCache, @unchecked Sendable {
    override init() { super.init() }
    override func cachedResponse(for request: URLRequest) -> CachedURLResponse? { nil }
}

private final class Transaction: URLSessionTaskTransactionMetrics, @unchecked Sendable {
    override init() { super.init() }
    override var networkProtocolName: String? { "h2" }
}

private final class MetricsDouble: URLSessionTaskMetrics, @unchecked Sendable {
    override init() { super.init() }
    override var transactionMetrics: [URLSessionTaskTransactionMetrics] { [Transaction()] }
}

private final class SharedDouble: URLSession, @unchecked Sendable {
    override class var shared: URLSession { SilentSession() }
}

@Suite struct MockTests {
    // S-35
    @Test("a session that overrides the asynchronous methods") func overriddenAsynchronousMethods() async throws {
        let double = AsynchronousSession()
        let session: URLSession = double
        let url = URL(fileURLWithPath: "/file")
        let request = URLRequest(url: url)
        #expect(try await session.data(for: request).0 == Data("canned".utf8))
        _ = try await session.data(from: url)
        _ = try await session.upload(for: request, from: Data("abc".utf8))
        _ = try await session.upload(for: request, fromFile: url)
        _ = try await session.download(for: request)
        _ = try await session.download(from: url)
        _ = try await session.download(resumeFrom: Data())
        #expect(
            double.asked.current == [
                "data for", "data from", "upload 3", "upload /file", "download for", "download from",
                "download resumed",
            ])
        let client: any HTTPClient = double
        _ = try await client.data(from: url)
        #expect(double.asked.current.last == "data from")
    }

    // MISC-13, AUTH-9, C-25: what an object without arguments says
    @Test("objects without arguments") func objectsWithoutArguments() throws {
        let (plain, http) = (URLResponse(), HTTPURLResponse())
        #expect([plain.url, http.url] == [nil, nil])
        #expect(
            [plain.mimeType, plain.textEncodingName, http.mimeType, http.textEncodingName] == [nil, nil, nil, nil])
        #expect([plain.expectedContentLength, http.expectedContentLength] == [-1, -1])
        #expect(http.statusCode == 200)
        #expect(http.allHeaderFields.isEmpty)
        let cached = CachedURLResponse()
        #expect(cached.data.isEmpty && cached.response == plain && cached.storagePolicy == .allowed)
        let space = URLProtectionSpace()
        #expect(space.host.isEmpty && space.port == 0 && space.realm == nil)
        #expect(space.authenticationMethod == NSURLAuthenticationMethodDefault)
        let credential = URLCredential()
        #expect(credential.user == nil && !credential.hasPassword && credential.persistence == .none)
        let challenge = URLAuthenticationChallenge()
        #expect(challenge.protectionSpace == space && challenge.sender == nil && challenge.previousFailureCount == 0)
    }

    // CACHE-23: programs give a configuration a cache that they made without capacities
    @Test("a cache without arguments stores responses") func aCacheWithoutArguments() throws {
        let cache = URLCache()
        #expect(cache.memoryCapacity == 4 << 20 && cache.diskCapacity == 20 << 20)
        cache.diskCapacity = 0
        let url = try #require(URL(string: "https://example.org/"))
        let (response, body) = (
            URLResponse(url: url, mimeType: nil, expectedContentLength: 1, textEncodingName: nil), Data("x".utf8)
        )
        cache.storeCachedResponse(CachedURLResponse(response: response, data: body), for: URLRequest(url: url))
        let found = cache.cachedResponse(for: URLRequest(url: url))
        #expect(found?.data == body)
        // A cache in the same folder sees only what is on disk.
        #expect(URLCache().cachedResponse(for: URLRequest(url: url)) == nil)
    }

    @Test("doubles without arguments") func doublesWithoutArguments() {
        #expect(FreshSpace().host == "example.org")
        #expect(NoCache().memoryCapacity == 4 << 20)
        let metrics = MetricsDouble()
        #expect(metrics.redirectCount == 0)
        #expect(metrics.transactionMetrics.map(\.networkProtocolName) == ["h2"])
        #expect(metrics.transactionMetrics.first?.request.url == nil)
        #expect(SharedDouble.shared is SilentSession)
    }

    // MISC-10, MISC-13
    @Test("an HTTP response of a type and a length") func anHTTPResponseOfATypeAndALength() throws {
        let url = try #require(URL(string: "https://example.org/a.html"))
        let response = HTTPURLResponse(
            url: url, mimeType: "text/css", expectedContentLength: 12, textEncodingName: "utf-8")
        #expect(response.statusCode == 200)
        #expect(response.url == url)
        #expect([response.mimeType, response.textEncodingName] == ["text/css", "utf-8"])
        #expect(response.expectedContentLength == 12)
        let archive = try NSKeyedArchiver.archivedData(withRootObject: response, requiringSecureCoding: true)
        #expect(try NSKeyedUnarchiver.unarchivedObject(ofClass: HTTPURLResponse.self, from: archive) == response)
        let untyped = HTTPURLResponse(url: url, mimeType: nil, expectedContentLength: -1, textEncodingName: nil)
        #expect([untyped.mimeType, untyped.textEncodingName] == ["text/html", nil])
    }

    // MISC-10
    @Test("the text of a response, by the name of its encoding") func theTextOfAResponse() throws {
        let url = try #require(URL(string: "https://example.org/"))
        func text(_ bytes: [UInt8], _ contentType: String) -> String? {
            let response = HTTPURLResponse(
                url: url, statusCode: 200, httpVersion: nil, headerFields: ["Content-Type": contentType])
            guard let name = response?.textEncodingName else { return nil }
            let encoding = CFStringConvertIANACharSetNameToEncoding(name as CFString)
            guard encoding != kCFStringEncodingInvalidId else { return nil }
            return String(
                data: Data(bytes),
                encoding: String.Encoding(rawValue: CFStringConvertEncodingToNSStringEncoding(encoding)))
        }
        #expect(text([0x67, 0xFC, 0x6E], "text/html; charset=ISO-8859-1") == "gün")
        #expect(text([0x67, 0xC3, 0xBC], "text/html; charset=UTF-8") == "gü")
        #expect(text([0x82, 0xA0], "text/html; charset=Shift_JIS") == "あ")
        #expect(text([0x61], "text/html; charset=none-such") == nil)
        #expect(text([0x61], "text/html") == nil)
        #expect(CFStringConvertIANACharSetNameToEncoding(nil) == kCFStringEncodingInvalidId)
    }

    // PROXY-1
    @Test("the proxy of stream properties") func theProxyOfStreamProperties() {
        let names = [
            kCFStreamPropertyHTTPProxyHost, kCFStreamPropertyHTTPProxyPort, kCFStreamPropertyHTTPSProxyHost,
            kCFStreamPropertyHTTPSProxyPort,
        ]
        #expect(names == ["HTTPProxy", "HTTPPort", "HTTPSProxy", "HTTPSPort"])
        // As a value of the dictionary.
        let version: [CFString: Any] = [kCFStreamPropertySOCKSVersion: kCFStreamSocketSOCKSVersion4]
        #expect(version[kCFStreamPropertySOCKSVersion] as? String == "kCFStreamSocketSOCKSVersion4")
        let proxy: [CFString: Any] = [
            kCFProxyTypeKey: kCFProxyTypeSOCKS, kCFProxyHostNameKey: "proxy.example", kCFProxyPortNumberKey: 1080,
        ]
        #expect(proxy[kCFProxyTypeKey] as? String == "kCFProxyTypeSOCKS")
    }

    private func text(of client: some HTTPClient, _ url: URL) async throws -> String {
        let (data, _) = try await client.data(for: URLRequest(url: url))
        let (again, _) = try await client.data(from: url)
        #expect(data == again)
        return String(decoding: data, as: UTF8.self)
    }

    @Test("a session behind a protocol of the program's") func aSessionBehindAProtocolOfThePrograms() async throws {
        let server = try ScriptedServer.answering(.text("real"))
        defer { server.stop() }
        let session = URLSession(configuration: .ephemeral)
        #expect(try await text(of: session, server.url()) == "real")
        #expect(try await text(of: CannedClient(body: "canned"), server.url()) == "canned")
        let client: any HTTPClientWithDelegate = session
        let (bytes, _) = try await client.bytes(for: URLRequest(url: server.url()), delegate: nil)
        #expect(try await bytes.reduce(into: 0) { count, _ in count += 1 } == 4)
        let maker: any TaskMaker = session
        let answer = try await withCheckedThrowingContinuation { continuation in
            maker.dataTask(with: server.url()) { data, _, error in
                continuation.resume(with: Result { if let error { throw error } else { data } })
            }.resume()
        }
        #expect(answer == Data("real".utf8))
        maker.invalidateAndCancel()
    }

    @Test("subclasses of session and task") func subclassesOfSessionAndTask() async throws {
        let session = CannedSession()
        let url = try #require(URL(string: "https://example.org/"))
        let answer = Locked<Data?>(nil)
        let task = session.dataTask(with: url) { data, _, _ in answer.change { $0 = data } }
        #expect(task.state == .running)
        task.resume()
        task.cancel()
        #expect(task.state == .canceling)
        #expect(task.taskIdentifier == 7)
        #expect(answer.current == Data("canned".utf8))
        #expect(session.asked.current == [url])
        let silent = SilentSession(configuration: .ephemeral, delegate: nil, delegateQueue: nil)
        #expect(silent.dataTask(with: URLRequest(url: url)) is CannedTask)
        #expect(SilentSession(configuration: .ephemeral).delegate == nil)
        #expect(SilentSession().configuration.identifier == nil)
        session.invalidateAndCancel()
        silent.invalidateAndCancel()
    }
}
