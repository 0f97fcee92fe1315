import Foundation

#if canImport(FoundationNetworking)
    import class FoundationNetworking.CachedURLResponse
    import class FoundationNetworking.HTTPURLResponse
    import class FoundationNetworking.URLProtocol
    import class FoundationNetworking.URLSessionConfiguration
    import class FoundationNetworking.URLSessionTask
    import protocol FoundationNetworking.URLProtocolClient
    import struct FoundationNetworking.URLRequest
#endif

public let revision = 1

/// Answers the requests to its host; packages above inherit from it.
open class StubProtocol: URLProtocol {
    open class var host: String { "stub" }

    open override class func canInit(with request: URLRequest) -> Bool { request.url?.host == host }
    open override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

    open override func startLoading() {
        guard
            let url = request.url,
            let response = HTTPURLResponse(
                url: url, statusCode: 207, httpVersion: "HTTP/1.1", headerFields: ["X-Stub": "1"])
        else { return }
        client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
        client?.urlProtocol(self, didLoad: Data("stub of \(Self.host)".utf8))
        client?.urlProtocolDidFinishLoading(self)
    }

    open override func stopLoading() {}
}

extension URLSessionConfiguration {
    public static func stubbed(by kind: StubProtocol.Type) -> URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.protocolClasses = [kind]
        return configuration
    }
}
