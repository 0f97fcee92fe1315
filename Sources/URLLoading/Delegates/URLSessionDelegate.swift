public import Foundation

/// What a session tells about itself. Every method is optional: one that a class does not implement is never called
/// again once found missing, and the session acts as if there were no delegate.
///
/// The session holds its delegate strongly until it is invalidated. Calls come on the session's delegate queue.
/// Where a method has a completion handler it also has an `async` form; implement one of them. A handler may be
/// called from any thread; a second call of it is ignored.
@preconcurrency public protocol URLSessionDelegate: NSObjectProtocol, Sendable {
    /// The session is done: all tasks have ended and it lets go of this delegate. The error is nil unless the system
    /// ended the session.
    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?)

    /// A connection asks for a decision about a server's trust, a client certificate, NTLM or Negotiate. If missing,
    /// the task-level method is asked.
    func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void)

    /// The `async` form of the same question.
    func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?)

    /// A background session has delivered everything that had gathered while the program was away.
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
