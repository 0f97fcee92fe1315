public import Foundation

/// The callbacks of a session as a whole. Every method is optional: one that a class does not implement is never called
/// again once found missing, and the session acts as if there were no delegate.
///
/// The session holds its delegate strongly until it is invalidated. Calls come on the session's delegate queue.
/// Where a method has a completion handler it also has an `async` form; implement one of them. A handler may be
/// called from any thread; a second call of it is ignored.
@preconcurrency public protocol URLSessionDelegate: NSObjectProtocol, Sendable {
    /// The session has been invalidated and all tasks have ended. The last callback: the session then releases its
    /// delegate. The error is nil unless the system invalidated the session.
    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?)

    /// A connection-level challenge: server trust, client certificate, NTLM or Negotiate. If this method is not
    /// implemented, the task-level method is called.
    func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void)

    /// The `async` variant of the method above.
    func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?)

    /// A background session has delivered all events that occurred while the program was not running.
    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession)
}

extension URLSessionDelegate {
    public func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        markMissing(.sessionDidBecomeInvalid, in: self)
    }

    public func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        markMissing(.sessionDidReceiveChallenge, in: self)
        completionHandler(.performDefaultHandling, nil)
    }

    public func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
        markMissing(.sessionDidReceiveChallengeAsync, in: self)
        return (.performDefaultHandling, nil)
    }

    public func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {
        markMissing(.sessionDidFinishEvents, in: self)
    }
}
