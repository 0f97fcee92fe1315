internal import Foundation
internal import LoadingPipeline
internal import LoadingSemantics

/// The client of a custom `URLProtocol`. The protocol may keep it and call it after the load has ended.
final class ProtocolClient: NSObject, URLProtocolClient, Sendable {
    private let source: ProtocolSource
    /// The request to load.
    let request: URLRequest

    init(for source: ProtocolSource, request: URLRequest) {
        self.source = source
        self.request = request
    }

    func urlProtocol(_ protocol: URLProtocol, wasRedirectedTo request: URLRequest, redirectResponse: URLResponse) {
        source.forward { load, task in
            guard load.redirected(SourceResponse(redirectResponse)) else { return }
            task.isRedirected(load, to: request, by: redirectResponse)
        }
    }

    func urlProtocol(_ protocol: URLProtocol, cachedResponseIsValid cachedResponse: CachedURLResponse) {
        source.forward { load, _ in
            load.received(SourceResponse(cachedResponse.response))
            load.received(cachedResponse.data)
            load.ended(nil)
        }
    }

    func urlProtocol(
        _ protocol: URLProtocol, didReceive response: URLResponse, cacheStoragePolicy policy: URLCache.StoragePolicy
    ) {
        source.forward { [source] load, task in
            source.collect(response, policy, for: task)
            load.received(SourceResponse(response))
        }
    }

    func urlProtocol(_ protocol: URLProtocol, didLoad data: Data) {
        source.forward { [source] load, _ in
            source.collect(data)
            load.received(data)
        }
    }

    func urlProtocolDidFinishLoading(_ protocol: URLProtocol) {
        source.forward { load, _ in load.ended(nil) }
    }

    func urlProtocol(_ protocol: URLProtocol, didFailWithError error: any Error) {
        // The code is for the engine. The delegate gets the original error.
        let code = (error as? URLError)?.code.rawValue ?? NSURLErrorCannotLoadFromNetwork
        source.forward { load, _ in load.ended(.foreign(error, code: code)) }
    }

    func urlProtocol(_ protocol: URLProtocol, didReceive challenge: URLAuthenticationChallenge) {
        source.forward { [source] _, _ in source.ask(challenge) }
    }

    func urlProtocol(_ protocol: URLProtocol, didCancel challenge: URLAuthenticationChallenge) {
        source.forward { [source] _, _ in source.withdraw(challenge) }
    }
}

extension SourceResponse {
    fileprivate init(_ response: URLResponse) {
        self.init(
            mimeType: response.mimeType, textEncodingName: response.textEncodingName,
            expectedLength: response.expectedContentLength, object: response)
    }
}
