public import Foundation

/// What a ``URLProtocol`` tells the system that it loads for. May be called from any thread.
public protocol URLProtocolClient: NSObjectProtocol {
    /// The load leads elsewhere. It is over for this protocol, which is stopped; the delegate is asked, and a new load
    /// of the request begins.
    func urlProtocol(_ protocol: URLProtocol, wasRedirectedTo request: URLRequest, redirectResponse: URLResponse)

    /// The stored response that the protocol was made with is still good: it and its body are the result.
    func urlProtocol(_ protocol: URLProtocol, cachedResponseIsValid cachedResponse: CachedURLResponse)

    /// The head of the response is there. The policy says whether, and where, the session's cache may keep the response.
    func urlProtocol(
        _ protocol: URLProtocol, didReceive response: URLResponse, cacheStoragePolicy policy: URLCache.StoragePolicy)

    /// The next piece of the body is there.
    func urlProtocol(_ protocol: URLProtocol, didLoad data: Data)

    /// All of the body is there.
    func urlProtocolDidFinishLoading(_ protocol: URLProtocol)

    /// The load failed. The task ends with this error.
    func urlProtocol(_ protocol: URLProtocol, didFailWithError error: any Error)

    /// A credential is needed. The delegate is asked, and the challenge's sender called with what it answers, on the queue
    /// that protocols are started on.
    func urlProtocol(_ protocol: URLProtocol, didReceive challenge: URLAuthenticationChallenge)

    /// The answer to a challenge is of no interest any more.
    func urlProtocol(_ protocol: URLProtocol, didCancel challenge: URLAuthenticationChallenge)
}
