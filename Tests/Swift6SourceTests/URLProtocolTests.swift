import Foundation
import TestSupport
import Testing
import URLLoading

/// The double that unit tests use, as Swift 6 wants it.
private final class MockURLProtocol: URLProtocol, @unchecked Sendable {
    // Sendable because it has nothing that changes.
    typealias Handler = @Sendable (URLRequest) throws -> (HTTPURLResponse, Data)

    static let handlers = Locked<[String: Handler]>([:])

    override class func canInit(with task: URLSessionTask) -> Bool {
        task.currentRequest?.url?.host.map { handlers.current[$0] != nil } ?? false
    }

    override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

    override func startLoading() {
        guard let host = request.url?.host, let handler = Self.handlers.current[host] else { return }
        do {
            let (response, data) = try handler(request)
            client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
            client?.urlProtocol(self, didLoad: data)
            client?.urlProtocolDidFinishLoading(self)
        } catch {
            client?.urlProtocol(self, didFailWithError: error)
        }
    }

    override func stopLoading() {}
}

/// One that answers later, from a Swift task.
private final class SlowProtocol: URLProtocol, @unchecked Sendable {
    // Sendable because what changes is behind a lock.
    private let work = Locked<Task<Void, Never>?>(nil)

    override class func canInit(with request: URLRequest) -> Bool { request.url?.scheme == "slow" }

    override func startLoading() {
        let task = Task {
            try? await Task.sleep(for: .milliseconds(1))
            guard !Task.isCancelled, let url = request.url else { return }
            let response = URLResponse(
                url: url, mimeType: "text/plain", expectedContentLength: 4, textEncodingName: "utf-8")
            client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .allowed)
            client?.urlProtocol(self, didLoad: Data("slow".utf8))
            client?.urlProtocolDidFinishLoading(self)
        }
        work.change { $0 = task }
    }

    override func stopLoading() { work.current?.cancel() }
}

/// A client of one's own, to test a protocol by itself.
private final class RecordingClient: NSObject, URLProtocolClient, @unchecked Sendable {
    // Sendable because what changes is behind a lock.
    let said = Locked<[String]>([])

    func urlProtocol(_ protocol: URLProtocol, wasRedirectedTo request: URLRequest, redirectResponse: URLResponse) {}
    func urlProtocol(_ protocol: URLProtocol, cachedResponseIsValid cachedResponse: CachedURLResponse) {}
    func urlProtocol(
        _ protocol: URLProtocol, didReceive response: URLResponse, cacheStoragePolicy policy: URLCache.StoragePolicy
    ) { said.change { $0.append("response") } }
    func urlProtocol(_ protocol: URLProtocol, didLoad data: Data) {
        said.change { $0.append(String(decoding: data, as: UTF8.self)) }
    }
    func urlProtocolDidFinishLoading(_ protocol: URLProtocol) { said.change { $0.append("end") } }
    func urlProtocol(_ protocol: URLProtocol, didFailWithError error: any Error) {}
    func urlProtocol(_ protocol: URLProtocol, didReceive challenge: URLAuthenticationChallenge) {}
    func urlProtocol(_ protocol: URLProtocol, didCancel challenge: URLAuthenticationChallenge) {}
}

@Suite struct URLProtocolTests {
    private func session(_ classes: [AnyClass]) -> URLSession {
        let configuration = URLSessionConfiguration.default
        configuration.protocolClasses = classes + (configuration.protocolClasses ?? [])
        return URLSession(configuration: configuration)
    }

    private func answer(_ status: Int, _ text: String) -> MockURLProtocol.Handler {
        { request in
            guard let url = request.url,
                let response = HTTPURLResponse(
                    url: url, statusCode: status, httpVersion: "HTTP/2", headerFields: ["Content-Type": "text/plain"])
            else { throw URLError(.badURL) }
            return (response, Data(text.utf8))
        }
    }

    // MISC-18
    @Test("a mock") func aMock() async throws {
        MockURLProtocol.handlers.change { $0["mock.example.com"] = answer(404, "nothing here") }
        let url = try #require(URL(string: "https://mock.example.com/a"))
        let (data, response) = try await session([MockURLProtocol.self]).data(from: url)
        #expect(String(decoding: data, as: UTF8.self) == "nothing here")
        #expect((response as? HTTPURLResponse)?.statusCode == 404)
        MockURLProtocol.handlers.change { $0["mock.example.com"] = { _ in throw URLError(.timedOut) } }
        await #expect(throws: URLError.self) { try await session([MockURLProtocol.self]).data(from: url) }
    }

    // MISC-18
    @Test("an answer from a Swift task") func anAnswerFromASwiftTask() async throws {
        let url = try #require(URL(string: "slow://x/"))
        let (data, response) = try await session([SlowProtocol.self]).data(from: url)
        #expect(String(decoding: data, as: UTF8.self) == "slow")
        #expect(response.mimeType == "text/plain")
    }

    // MISC-18
    @Test("a protocol by itself") func aProtocolByItself() throws {
        MockURLProtocol.handlers.change { $0["alone.example.com"] = answer(200, "body") }
        let client = RecordingClient()
        let url = try #require(URL(string: "https://alone.example.com/"))
        let loading = MockURLProtocol(request: URLRequest(url: url), cachedResponse: nil, client: client)
        loading.startLoading()
        loading.stopLoading()
        #expect(client.said.current == ["response", "body", "end"])
    }
}
