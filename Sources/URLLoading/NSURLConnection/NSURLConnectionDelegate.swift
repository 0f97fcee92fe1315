public import Foundation

/// The callbacks of every ``NSURLConnection``. All are optional.
public protocol NSURLConnectionDelegate: NSObjectProtocol {
    /// The load has failed. The last callback of the connection.
    func connection(_ connection: NSURLConnection, didFailWithError error: any Error)

    /// Whether stored credentials are used. Asked once, before the request is sent. True by default.
    func connectionShouldUseCredentialStorage(_ connection: NSURLConnection) -> Bool

    /// The server or a proxy requires authentication, or its trust is to be evaluated. The load waits until a method of
    /// the challenge's sender is called, at once or later, on any thread. By default the two callbacks below are
    /// called.
    func connection(_ connection: NSURLConnection, willSendRequestFor challenge: URLAuthenticationChallenge)

    /// Whether the delegate answers challenges of this kind; otherwise the load continues as without a delegate. By
    /// default all except server trust and client certificates. Deprecated on Apple platforms,
    /// and without effect beside the callback above.
    func connection(
        _ connection: NSURLConnection, canAuthenticateAgainstProtectionSpace protectionSpace: URLProtectionSpace
    ) -> Bool

    /// A challenge, which the delegate answers by the challenge's sender. By default the load continues as without a
    /// delegate. Deprecated on Apple platforms, and without effect beside `connection(_:willSendRequestFor:)`.
    func connection(_ connection: NSURLConnection, didReceive challenge: URLAuthenticationChallenge)
}

/// The callbacks of an ``NSURLConnection`` that loads data. All are optional.
public protocol NSURLConnectionDataDelegate: NSURLConnectionDelegate {
    /// A request is about to be sent: the first one, without a response, or one after a redirect response.
    ///
    /// - Returns: The request to send. With nil a redirect is not followed, and its response is delivered; a connection
    ///   whose first request is nil is cancelled.
    func connection(
        _ connection: NSURLConnection, willSend request: URLRequest, redirectResponse response: URLResponse?
    ) -> URLRequest?

    /// The response was received. A `multipart/x-mixed-replace` load has several of them.
    func connection(_ connection: NSURLConnection, didReceive response: URLResponse)

    /// A piece of the body was received.
    func connection(_ connection: NSURLConnection, didReceive data: Data)

    /// The body has to be sent again. With nil the load fails.
    func connection(_ connection: NSURLConnection, needNewBodyStream request: URLRequest) -> InputStream?

    /// A part of the request's body was sent.
    ///
    /// - Parameters:
    ///   - connection: The connection that sends the body.
    ///   - bytesWritten: The number of bytes since the last call.
    ///   - totalBytesWritten: The number of bytes so far.
    ///   - totalBytesExpectedToWrite: The length of the body in bytes; −1 if it is unknown.
    func connection(
        _ connection: NSURLConnection, didSendBodyData bytesWritten: Int, totalBytesWritten: Int,
        totalBytesExpectedToWrite: Int)

    /// The response is about to be cached.
    ///
    /// - Returns: The response to store; nil for none.
    func connection(
        _ connection: NSURLConnection, willCacheResponse cachedResponse: CachedURLResponse
    ) -> CachedURLResponse?

    /// The load has succeeded. The last callback of the connection.
    func connectionDidFinishLoading(_ connection: NSURLConnection)
}

extension NSURLConnectionDelegate {
    public func connection(_ connection: NSURLConnection, didFailWithError error: any Error) {}
    public func connectionShouldUseCredentialStorage(_ connection: NSURLConnection) -> Bool { true }
    public func connection(_ connection: NSURLConnection, willSendRequestFor challenge: URLAuthenticationChallenge) {
        if self.connection(connection, canAuthenticateAgainstProtectionSpace: challenge.protectionSpace) {
            self.connection(connection, didReceive: challenge)
        } else {
            challenge.sender?.performDefaultHandling(for: challenge)
        }
    }
    public func connection(
        _ connection: NSURLConnection, canAuthenticateAgainstProtectionSpace protectionSpace: URLProtectionSpace
    ) -> Bool {
        let others = [NSURLAuthenticationMethodServerTrust, NSURLAuthenticationMethodClientCertificate]
        return !others.contains(protectionSpace.authenticationMethod)
    }
    public func connection(_ connection: NSURLConnection, didReceive challenge: URLAuthenticationChallenge) {
        challenge.sender?.performDefaultHandling(for: challenge)
    }
}

extension NSURLConnectionDataDelegate {
    public func connection(
        _ connection: NSURLConnection, willSend request: URLRequest, redirectResponse response: URLResponse?
    ) -> URLRequest? { request }
    public func connection(_ connection: NSURLConnection, didReceive response: URLResponse) {}
    public func connection(_ connection: NSURLConnection, didReceive data: Data) {}
    public func connection(_ connection: NSURLConnection, needNewBodyStream request: URLRequest) -> InputStream? { nil }
    public func connection(
        _ connection: NSURLConnection, didSendBodyData bytesWritten: Int, totalBytesWritten: Int,
        totalBytesExpectedToWrite: Int
    ) {}
    public func connection(
        _ connection: NSURLConnection, willCacheResponse cachedResponse: CachedURLResponse
    ) -> CachedURLResponse? { cachedResponse }
    public func connectionDidFinishLoading(_ connection: NSURLConnection) {}
}
