import Foundation
import TestSupport
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The double that unit tests have used for years.
private class MockURLProtocol: URLProtocol {
    static var requestHandler: ((URLRequest) throws -> (HTTPURLResponse, Data?))?
    static var requests = [URLRequest]()

    override class func canInit(with request: URLRequest) -> Bool {
        return true
    }

    override class func canonicalRequest(for request: URLRequest) -> URLRequest {
        return request
    }

    override init(request: URLRequest, cachedResponse: CachedURLResponse?, client: URLProtocolClient?) {
        super.init(request: request, cachedResponse: cachedResponse, client: client)
    }

    override func startLoading() {
        Self.requests.append(request)
        guard let handler = MockURLProtocol.requestHandler else {
            client?.urlProtocol(self, didFailWithError: URLError(.unknown))
            return
        }
        do {
            let (response, data) = try handler(request)
            client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
            if let data = data {
                client?.urlProtocol(self, didLoad: data)
            }
            client?.urlProtocolDidFinishLoading(self)
        } catch {
            client?.urlProtocol(self, didFailWithError: error)
        }
    }

    override func stopLoading() {}
}

/// Marks what it has seen, so as not to see it again.
private final class TaggingProtocol: URLProtocol {
    private static let key = "TaggingProtocol.handled"
    private var dataTask: URLSessionDataTask?

    override class func canInit(with request: URLRequest) -> Bool {
        return request.url?.scheme == "http" && URLProtocol.property(forKey: key, in: request) == nil
    }

    override class func requestIsCacheEquivalent(_ a: URLRequest, to b: URLRequest) -> Bool {
        return super.requestIsCacheEquivalent(a, to: b)
    }

    override func startLoading() {
        guard let tagged = (request as NSURLRequest).mutableCopy() as? NSMutableURLRequest else { return }
        URLProtocol.setProperty(true, forKey: Self.key, in: tagged)
        dataTask = URLSession.shared.dataTask(with: tagged as URLRequest) { data, response, error in
            if let error = error {
                self.client?.urlProtocol(self, didFailWithError: error)
                return
            }
            if let response = response {
                self.client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .allowedInMemoryOnly)
            }
            if let data = data { self.client?.urlProtocol(self, didLoad: data + Data("!".utf8)) }
            self.client?.urlProtocolDidFinishLoading(self)
        }
        dataTask?.resume()
    }

    override func stopLoading() {
        dataTask?.cancel()
        dataTask = nil
    }
}

@Suite(.serialized) struct URLProtocolTests {
    private func session(_ classes: AnyClass...) -> URLSession {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.protocolClasses = classes
        return URLSession(configuration: configuration)
    }

    // MISC-18
    @Test("a mock") func aMock() async throws {
        let url = try #require(URL(string: "https://api.example.com/users"))
        MockURLProtocol.requestHandler = { request in
            #expect(request.httpMethod == "POST")
            let response = HTTPURLResponse(url: url, statusCode: 201, httpVersion: nil, headerFields: ["A": "b"])!
            return (response, Data("{}".utf8))
        }
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.httpBody = Data("{}".utf8)
        let (data, response) = try await session(MockURLProtocol.self).data(for: request)
        #expect(data == Data("{}".utf8))
        #expect((response as? HTTPURLResponse)?.value(forHTTPHeaderField: "a") == "b")
        #expect(MockURLProtocol.requests.last?.url == url)
        enum Failure: Error { case expected }
        MockURLProtocol.requestHandler = { _ in throw Failure.expected }
        await #expect(throws: Failure.expected) { try await session(MockURLProtocol.self).data(from: url) }
    }

    // MISC-18
    @Test("a protocol that loads by a session of its own") func aProtocolThatLoadsByASession() async throws {
        let server = try ScriptedServer.answering(.text("hello"))
        defer { server.stop() }
        URLProtocol.registerClass(TaggingProtocol.self)
        defer { URLProtocol.unregisterClass(TaggingProtocol.self) }
        let (data, _) = try await URLSession.shared.data(from: server.url())
        #expect(String(decoding: data, as: UTF8.self) == "hello!")
    }
}
