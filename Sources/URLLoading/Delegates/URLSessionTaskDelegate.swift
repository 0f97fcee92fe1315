public import Foundation

/// The callbacks of all kinds of tasks. A session's delegate gets those of all its tasks. A task may also have its own
/// delegate, which is called first; methods that it does not implement are called on the session's delegate.
@preconcurrency public protocol URLSessionTaskDelegate: URLSessionDelegate {
    /// A task was created. The first callback of every task, called on the caller's thread before the creating method
    /// returns.
    func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask)

    /// A background task is about to start, because its `earliestBeginDate` is reached.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willBeginDelayedRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLSession.DelayedRequestDisposition, URLRequest?) -> Void)

    /// The `async` variant of the method above.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willBeginDelayedRequest request: URLRequest
    ) async -> (URLSession.DelayedRequestDisposition, URLRequest?)

    /// There is no route to the server, and the task waits for one. Called at most once per task.
    func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask)

    /// The server redirects. Pass the request to send, or nil to deliver the redirect response itself. If this method
    /// is not implemented, the redirect is followed.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void)

    /// The `async` variant of the method above.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest
    ) async -> URLRequest?

    /// The server or a proxy requires authentication.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void)

    /// The `async` variant of the method above.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?)

    /// A body stream is needed, initially or again. With nil the task fails with `requestBodyStreamExhausted`.
    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void)

    /// The `async` variant of the method above.
    func urlSession(_ session: URLSession, needNewBodyStreamForTask task: URLSessionTask) async -> InputStream?

    /// A body stream that begins at a byte offset is needed, to resume an interrupted upload.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, needNewBodyStreamFrom offset: Int64,
        completionHandler: @escaping @Sendable (InputStream?) -> Void)

    /// The `async` variant of the method above.
    func urlSession(
        _ session: URLSession, needNewBodyStreamForTask task: URLSessionTask, from offset: Int64
    ) async -> InputStream?

    /// Part of the body was sent. All counts are in bytes; `totalBytesExpectedToSend` is −1 if unknown.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64)

    /// An informational response was received: status 100 to 199 except 101.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceiveInformationalResponse response: HTTPURLResponse)

    /// The metrics of the task are complete. Called just before the task's completion.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics)

    /// The task has ended. The last callback of a task. The error is nil if the whole response was received, whatever
    /// its status.
    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?)
}

extension URLSessionTaskDelegate {
    public func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask) {
        markMissing(.taskDidCreate, in: self)
    }

    public func urlSession(
        _ session: URLSession, task: URLSessionTask, willBeginDelayedRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLSession.DelayedRequestDisposition, URLRequest?) -> Void
    ) {
        markMissing(.taskWillBeginDelayedRequest, in: self)
        completionHandler(.continueLoading, nil)
    }

    public func urlSession(
        _ session: URLSession, task: URLSessionTask, willBeginDelayedRequest request: URLRequest
    ) async -> (URLSession.DelayedRequestDisposition, URLRequest?) {
        markMissing(.taskWillBeginDelayedRequestAsync, in: self)
        return (.continueLoading, nil)
    }

    public func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {
        markMissing(.taskIsWaitingForConnectivity, in: self)
    }

    public func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        markMissing(.taskWillPerformRedirection, in: self)
        completionHandler(request)
    }

    public func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest
    ) async -> URLRequest? {
        markMissing(.taskWillPerformRedirectionAsync, in: self)
        return request
    }

    public func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        markMissing(.taskDidReceiveChallenge, in: self)
        completionHandler(.performDefaultHandling, nil)
    }

    public func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
        markMissing(.taskDidReceiveChallengeAsync, in: self)
        return (.performDefaultHandling, nil)
    }

    public func urlSession(
        _ session: URLSession, task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        markMissing(.taskNeedsNewBodyStream, in: self)
        completionHandler(nil)
    }

    public func urlSession(
        _ session: URLSession, needNewBodyStreamForTask task: URLSessionTask
    ) async -> InputStream? {
        markMissing(.taskNeedsNewBodyStreamAsync, in: self)
        return nil
    }

    public func urlSession(
        _ session: URLSession, task: URLSessionTask, needNewBodyStreamFrom offset: Int64,
        completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        markMissing(.taskNeedsNewBodyStreamFromOffset, in: self)
        completionHandler(nil)
    }

    public func urlSession(
        _ session: URLSession, needNewBodyStreamForTask task: URLSessionTask, from offset: Int64
    ) async -> InputStream? {
        markMissing(.taskNeedsNewBodyStreamFromOffsetAsync, in: self)
        return nil
    }

    public func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        markMissing(.taskDidSendBodyData, in: self)
    }

    public func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceiveInformationalResponse response: HTTPURLResponse
    ) {
        markMissing(.taskDidReceiveInformationalResponse, in: self)
    }

    public func urlSession(
        _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
    ) {
        markMissing(.taskDidFinishCollectingMetrics, in: self)
    }

    public func urlSession(
        _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
    ) {
        markMissing(.taskDidComplete, in: self)
    }
}
