public import Foundation

/// The interface through which a ``URLProtocol`` delivers its response. Thread-safe.
public protocol URLProtocolClient: NSObjectProtocol {
    /// The response is a redirect. This protocol is stopped, the delegate is called, and a new load of `request`
    /// begins.
    func urlProtocol(_ protocol: URLProtocol, wasRedirectedTo request: URLRequest, redirectResponse: URLResponse)

    /// The cached response that the protocol was created with is still valid; it is delivered as the result.
    func urlProtocol(_ protocol: URLProtocol, cachedResponseIsValid cachedResponse: CachedURLResponse)

    /// The response without its body. `policy` determines whether and where the session's cache may store it.
    func urlProtocol(
        _ protocol: URLProtocol, didReceive response: URLResponse, cacheStoragePolicy policy: URLCache.StoragePolicy)

    /// The next piece of the body. Returns at once. What the delegate has not taken is kept in memory without a limit,
    /// so a protocol of large bodies should not load faster than they are used.
    func urlProtocol(_ protocol: URLProtocol, didLoad data: Data)

    /// The body is complete.
    func urlProtocolDidFinishLoading(_ protocol: URLProtocol)

    /// The load failed. The task ends with `error`.
    func urlProtocol(_ protocol: URLProtocol, didFailWithError error: any Error)

    /// Authentication is required. The delegate is called, and its answer is passed to the challenge's sender, on the
    /// protocols' queue.
    func urlProtocol(_ protocol: URLProtocol, didReceive challenge: URLAuthenticationChallenge)

    /// Cancels a challenge: its answer is not needed any more.
    func urlProtocol(_ protocol: URLProtocol, didCancel challenge: URLAuthenticationChallenge)
}
