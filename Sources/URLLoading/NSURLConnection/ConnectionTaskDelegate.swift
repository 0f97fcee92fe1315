internal import Foundation
internal import LoadingEvents

/// Passes the callbacks of a task on to the delegate of its connection.
final class ConnectionTaskDelegate: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    // Sendable: the mutable state is guarded by the lock.

    private let connection: NSURLConnection
    private let lock = Lock()
    /// What the delegate has not got yet, in bytes.
    private var waiting = 0
    private var isPaused = false
    private var hasCancelledChallenge = false
    /// What the next call of the delegate reports of the sent body; nil if none is due.
    private var sent: SentBody?

    private final class SentBody: @unchecked Sendable {
        // Sendable: the delegate's lock guards the values.
        var count: Int64
        var total: Int64
        let expected: Int64

        init(count: Int64, total: Int64, expected: Int64) {
            (self.count, self.total, self.expected) = (count, total, expected)
        }
    }

    /// A task is paused with more bytes in front of its delegate.
    private static let most = 1 << 20

    init(_ connection: NSURLConnection) { self.connection = connection }

    /// Calls the delegate; without one of the kind, `otherwise` is called. Neither is if the connection is cancelled
    /// before its turn, because then the task ends without an answer.
    private func perform(
        otherwise: @escaping @Sendable () -> Void = {},
        _ body: @escaping @Sendable (NSURLConnection, any NSURLConnectionDataDelegate) -> Void
    ) {
        let isCalled = connection.perform { connection, delegate in
            if let delegate = delegate as? any NSURLConnectionDataDelegate {
                body(connection, delegate)
            } else {
                otherwise()
            }
        }
        if !isCalled { otherwise() }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        perform(otherwise: { completionHandler(request) }) { connection, delegate in
            completionHandler(delegate.connection(connection, willSend: request, redirectResponse: response))
        }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        let sender = ConnectionChallengeSender { [self] disposition, credential in
            if disposition == .cancelAuthenticationChallenge { lock.withLock { hasCancelledChallenge = true } }
            completionHandler(disposition, credential)
        }
        let copy = URLAuthenticationChallenge(authenticationChallenge: challenge, sender: sender)
        let defaults: @Sendable () -> Void = { sender.performDefaultHandling(for: copy) }
        let isCalled = connection.perform { $1.connection($0, willSendRequestFor: copy) }
        if !isCalled { defaults() }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        let request = task.currentRequest ?? connection.originalRequest
        perform(otherwise: { completionHandler(nil) }) { connection, delegate in
            completionHandler(delegate.connection(connection, needNewBodyStream: request))
        }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        let new: SentBody? = lock.withLock {
            // A call that is due reports this step too, so that they do not pile up where the run loop is busy.
            if let sent, sent.total + bytesSent == totalBytesSent {
                sent.count += bytesSent
                sent.total = totalBytesSent
                return nil
            }
            let new = SentBody(count: bytesSent, total: totalBytesSent, expected: totalBytesExpectedToSend)
            sent = new
            return new
        }
        guard let new else { return }
        perform(otherwise: { [self] in _ = take(new) }) { [self] connection, delegate in
            let (count, total) = take(new)
            delegate.connection(
                connection, didSendBodyData: Int(count), totalBytesWritten: Int(total),
                totalBytesExpectedToWrite: Int(new.expected))
        }
    }

    private func take(_ report: SentBody) -> (count: Int64, total: Int64) {
        lock.withLock {
            if sent === report { sent = nil }
            return (report.count, report.total)
        }
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        perform(otherwise: { completionHandler(.allow) }) { connection, delegate in
            delegate.connection(connection, didReceive: response)
            completionHandler(.allow)
        }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let mustPause = lock.withLock {
            waiting += data.count
            return waiting > Self.most && !isPaused
        }
        if mustPause {
            // Before it can be resumed. What lets it go on is that the delegate takes this data, or more.
            dataTask.suspend()
            lock.withLock { isPaused = true }
        }
        perform(otherwise: { [self] in took(data.count, of: dataTask) }) { [self] connection, delegate in
            delegate.connection(connection, didReceive: data)
            took(data.count, of: dataTask)
        }
    }

    private func took(_ count: Int, of task: URLSessionTask) {
        let mustGoOn = lock.withLock {
            waiting -= count
            guard isPaused, waiting <= Self.most / 2 else { return false }
            isPaused = false
            return true
        }
        if mustGoOn { task.resume() }
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposedResponse: CachedURLResponse,
        completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
        perform(otherwise: { completionHandler(proposedResponse) }) { connection, delegate in
            completionHandler(delegate.connection(connection, willCacheResponse: proposedResponse))
        }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let isCalled = connection.perform { [self] connection, delegate in
            connection.end()
            if let error {
                delegate.connection(connection, didFailWithError: connectionError(error))
            } else {
                (delegate as? any NSURLConnectionDataDelegate)?.connectionDidFinishLoading(connection)
            }
        }
        if !isCalled { connection.end() }
    }

    /// A task is cancelled by the cancellation of a challenge. A connection has a code for that.
    private func connectionError(_ error: any Error) -> any Error {
        guard lock.withLock({ hasCancelledChallenge }) else { return error }
        return URLError(.userCancelledAuthentication, userInfo: (error as NSError).userInfo)
    }
}

/// Takes the answer of a connection's delegate to a challenge. Only the first one counts.
private final class ConnectionChallengeSender: NSObject, URLAuthenticationChallengeSender, @unchecked Sendable {
    // Sendable: the handler is guarded by the lock.

    private let lock = Lock()
    private var handler: (@Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void)?

    init(_ handler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void) {
        self.handler = handler
    }

    private func answer(_ disposition: URLSession.AuthChallengeDisposition, _ credential: URLCredential? = nil) {
        let handler = lock.withLock {
            defer { self.handler = nil }
            return self.handler
        }
        handler?(disposition, credential)
    }

    func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {
        answer(.useCredential, credential)
    }

    func continueWithoutCredential(for challenge: URLAuthenticationChallenge) { answer(.useCredential) }
    func cancel(_ challenge: URLAuthenticationChallenge) { answer(.cancelAuthenticationChallenge) }
    func performDefaultHandling(for challenge: URLAuthenticationChallenge) { answer(.performDefaultHandling) }
    func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {
        answer(.rejectProtectionSpace)
    }
}
