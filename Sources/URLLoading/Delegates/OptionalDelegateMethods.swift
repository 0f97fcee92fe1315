public import Foundation

// On Apple's platforms the methods of the delegates are optional, and programs that pass events on call them with a
// question mark: `delegate.urlSession?(session, task: task, didCompleteWithError: error)`. Such a call finds the
// properties below, whose values are called with the same arguments. A plain call finds the methods.
extension URLSessionDelegate {
    /// The methods of this name, for calls with a question mark.
    @_disfavoredOverload
    public var urlSession: OptionalDelegateMethods? { OptionalDelegateMethods(self) }

    /// The method of this name, for calls with a question mark.
    @_disfavoredOverload
    public var urlSessionDidFinishEvents: OptionalBackgroundEventsMethod? { OptionalBackgroundEventsMethod(self) }
}

/// `urlSessionDidFinishEvents(forBackgroundURLSession:)` of a delegate, for a call with a question mark.
public struct OptionalBackgroundEventsMethod: Sendable {
    private let delegate: DelegateReference

    init(_ delegate: any URLSessionDelegate) { self.delegate = DelegateReference(delegate) }

    /// Calls the method. Nil if the delegate lacks it.
    @discardableResult
    public func callAsFunction(forBackgroundURLSession session: URLSession) -> Void? {
        delegate.urlSessionDidFinishEvents(forBackgroundURLSession: session) ? () : nil
    }
}

/// The methods `urlSession` of a delegate, for calls with a question mark.
///
/// Each call has the arguments of the delegate's method. If the delegate does not implement that method, the call is
/// nil, and the completion handler is not called.
public struct OptionalDelegateMethods: Sendable {
    private let delegate: DelegateReference

    init(_ delegate: any URLSessionDelegate) { self.delegate = DelegateReference(delegate) }
}

extension OptionalDelegateMethods {
    /// Calls the method of `URLSessionDelegate`. Nil if the delegate lacks it.
    @discardableResult
    public func callAsFunction(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) -> Void? {
        delegate.urlSession(session, didBecomeInvalidWithError: error) ? () : nil
    }

    /// Calls the method of `URLSessionDelegate`. Nil if the delegate lacks it.
    @preconcurrency @discardableResult
    public func callAsFunction(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) -> Void? {
        delegate.urlSession(session, didReceive: challenge, reply: completionHandler) ? () : nil
    }

    /// The `async` variant of the call above.
    public func callAsFunction(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?)? {
        await answer { reply in
            delegate.urlSession(session, didReceive: challenge) { reply(($0, $1)) }
        }
    }
}

extension OptionalDelegateMethods {
    /// Calls the method of `URLSessionTaskDelegate`. Nil if the delegate lacks it.
    @discardableResult
    public func callAsFunction(_ session: URLSession, didCreateTask task: URLSessionTask) -> Void? {
        delegate.urlSession(session, didCreateTask: task) ? () : nil
    }

    /// Calls the method of `URLSessionTaskDelegate`. Nil if the delegate lacks it.
    @preconcurrency @discardableResult
    public func callAsFunction(
        _ session: URLSession, task: URLSessionTask, willBeginDelayedRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLSession.DelayedRequestDisposition, URLRequest?) -> Void
    ) -> Void? {
        delegate.urlSession(session, task: task, willBeginDelayedRequest: request, reply: completionHandler) ? () : nil
    }

    /// Calls the method of `URLSessionTaskDelegate`. Nil if the delegate lacks it.
    @discardableResult
    public func callAsFunction(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) -> Void? {
        delegate.urlSession(session, taskIsWaitingForConnectivity: task) ? () : nil
    }

    /// Calls the method of `URLSessionTaskDelegate`. Nil if the delegate lacks it.
    @preconcurrency @discardableResult
    public func callAsFunction(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) -> Void? {
        delegate.urlSession(
            session, task: task, willPerformHTTPRedirection: response, newRequest: request, reply: completionHandler)
            ? () : nil
    }

    /// The `async` variant of the call above.
    public func callAsFunction(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest
    ) async -> URLRequest?? {
        await answer { reply in
            delegate.urlSession(
                session, task: task, willPerformHTTPRedirection: response, newRequest: request, reply: reply)
        }
    }

    /// Calls the method of `URLSessionTaskDelegate`. Nil if the delegate lacks it.
    @preconcurrency @discardableResult
    public func callAsFunction(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) -> Void? {
        delegate.urlSession(session, task: task, didReceive: challenge, reply: completionHandler) ? () : nil
    }

    /// The `async` variant of the call above.
    public func callAsFunction(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?)? {
        await answer { reply in
            delegate.urlSession(session, task: task, didReceive: challenge) { reply(($0, $1)) }
        }
    }

    /// Calls the method of `URLSessionTaskDelegate`. Nil if the delegate lacks it.
    @preconcurrency @discardableResult
    public func callAsFunction(
        _ session: URLSession, task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) -> Void? {
        delegate.urlSession(session, needNewBodyStreamForTask: task, reply: completionHandler) ? () : nil
    }

    /// Calls the method of `URLSessionTaskDelegate`. Nil if the delegate lacks it.
    @preconcurrency @discardableResult
    public func callAsFunction(
        _ session: URLSession, task: URLSessionTask, needNewBodyStreamFrom offset: Int64,
        completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) -> Void? {
        delegate.urlSession(session, needNewBodyStreamForTask: task, from: offset, reply: completionHandler) ? () : nil
    }

    /// Calls the method of `URLSessionTaskDelegate`. Nil if the delegate lacks it.
    @discardableResult
    public func callAsFunction(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) -> Void? {
        delegate.urlSession(
            session, task: task, didSendBodyData: bytesSent, totalBytesSent: totalBytesSent,
            totalBytesExpectedToSend: totalBytesExpectedToSend) ? () : nil
    }

    /// Calls the method of `URLSessionTaskDelegate`. Nil if the delegate lacks it.
    @discardableResult
    public func callAsFunction(
        _ session: URLSession, task: URLSessionTask, didReceiveInformationalResponse response: HTTPURLResponse
    ) -> Void? {
        delegate.urlSession(session, task: task, didReceiveInformationalResponse: response) ? () : nil
    }

    /// Calls the method of `URLSessionTaskDelegate`. Nil if the delegate lacks it.
    @discardableResult
    public func callAsFunction(
        _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
    ) -> Void? {
        delegate.urlSession(session, task: task, didFinishCollecting: metrics) ? () : nil
    }

    /// Calls the method of `URLSessionTaskDelegate`. Nil if the delegate lacks it.
    @discardableResult
    public func callAsFunction(
        _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
    ) -> Void? {
        delegate.urlSession(session, task: task, didCompleteWithError: error) ? () : nil
    }
}

extension OptionalDelegateMethods {
    /// Calls the method of `URLSessionDataDelegate`. Nil if the delegate lacks it.
    @preconcurrency @discardableResult
    public func callAsFunction(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) -> Void? {
        delegate.urlSession(session, dataTask: dataTask, didReceive: response, reply: completionHandler) ? () : nil
    }

    /// The `async` variant of the call above.
    public func callAsFunction(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse
    ) async -> URLSession.ResponseDisposition? {
        await answer { delegate.urlSession(session, dataTask: dataTask, didReceive: response, reply: $0) }
    }

    /// Calls the method of `URLSessionDataDelegate`. Nil if the delegate lacks it.
    @discardableResult
    public func callAsFunction(
        _ session: URLSession, dataTask: URLSessionDataTask, didBecome downloadTask: URLSessionDownloadTask
    ) -> Void? {
        delegate.urlSession(session, dataTask: dataTask, didBecome: downloadTask) ? () : nil
    }

    /// Calls the method of `URLSessionDataDelegate`. Nil if the delegate lacks it.
    @discardableResult
    public func callAsFunction(
        _ session: URLSession, dataTask: URLSessionDataTask, didBecome streamTask: URLSessionStreamTask
    ) -> Void? {
        delegate.urlSession(session, dataTask: dataTask, didBecome: streamTask) ? () : nil
    }

    /// Calls the method of `URLSessionDataDelegate`. Nil if the delegate lacks it.
    @discardableResult
    public func callAsFunction(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) -> Void? {
        delegate.urlSession(session, dataTask: dataTask, didReceive: data) ? () : nil
    }

    /// Calls the method of `URLSessionDataDelegate`. Nil if the delegate lacks it.
    @preconcurrency @discardableResult
    public func callAsFunction(
        _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposedResponse: CachedURLResponse,
        completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    ) -> Void? {
        delegate.urlSession(
            session, dataTask: dataTask, willCacheResponse: proposedResponse, reply: completionHandler) ? () : nil
    }

    /// The `async` variant of the call above.
    public func callAsFunction(
        _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposedResponse: CachedURLResponse
    ) async -> CachedURLResponse?? {
        await answer {
            delegate.urlSession(session, dataTask: dataTask, willCacheResponse: proposedResponse, reply: $0)
        }
    }
}

extension OptionalDelegateMethods {
    /// Calls the method of `URLSessionDownloadDelegate`. Nil if the delegate lacks it.
    @discardableResult
    public func callAsFunction(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) -> Void? {
        delegate.urlSession(
            session, downloadTask: downloadTask, didWriteData: bytesWritten, totalBytesWritten: totalBytesWritten,
            totalBytesExpectedToWrite: totalBytesExpectedToWrite) ? () : nil
    }

    /// Calls the method of `URLSessionDownloadDelegate`. Nil if the delegate lacks it.
    @discardableResult
    public func callAsFunction(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) -> Void? {
        delegate.urlSession(
            session, downloadTask: downloadTask, didResumeAtOffset: fileOffset, expectedTotalBytes: expectedTotalBytes)
            ? () : nil
    }
}

extension OptionalDelegateMethods {
    /// Calls the method of `URLSessionStreamDelegate`. Nil if the delegate lacks it.
    @discardableResult
    public func callAsFunction(_ session: URLSession, readClosedFor streamTask: URLSessionStreamTask) -> Void? {
        delegate.urlSession(session, readClosedFor: streamTask) ? () : nil
    }

    /// Calls the method of `URLSessionStreamDelegate`. Nil if the delegate lacks it.
    @discardableResult
    public func callAsFunction(_ session: URLSession, writeClosedFor streamTask: URLSessionStreamTask) -> Void? {
        delegate.urlSession(session, writeClosedFor: streamTask) ? () : nil
    }

    /// Calls the method of `URLSessionStreamDelegate`. Nil if the delegate lacks it.
    @discardableResult
    public func callAsFunction(
        _ session: URLSession, betterRouteDiscoveredFor streamTask: URLSessionStreamTask
    ) -> Void? {
        delegate.urlSession(session, betterRouteDiscoveredFor: streamTask) ? () : nil
    }

    /// Calls the method of `URLSessionStreamDelegate`. Nil if the delegate lacks it.
    @discardableResult
    public func callAsFunction(
        _ session: URLSession, streamTask: URLSessionStreamTask, didBecome inputStream: InputStream,
        outputStream: OutputStream
    ) -> Void? {
        delegate.urlSession(session, streamTask: streamTask, didBecome: inputStream, outputStream: outputStream)
            ? () : nil
    }
}

extension OptionalDelegateMethods {
    /// Calls the method of `URLSessionWebSocketDelegate`. Nil if the delegate lacks it.
    @discardableResult
    public func callAsFunction(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask, didOpenWithProtocol protocol: String?
    ) -> Void? {
        delegate.urlSession(session, webSocketTask: webSocketTask, didOpenWithProtocol: `protocol`) ? () : nil
    }

    /// Calls the method of `URLSessionWebSocketDelegate`. Nil if the delegate lacks it.
    @discardableResult
    public func callAsFunction(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
        didCloseWith closeCode: URLSessionWebSocketTask.CloseCode, reason: Data?
    ) -> Void? {
        delegate.urlSession(session, webSocketTask: webSocketTask, didCloseWith: closeCode, reason: reason) ? () : nil
    }
}

extension OptionalDelegateMethods {
    /// The answer of a method, or nil if `ask` says that the delegate does not implement it.
    private func answer<Answer: Sendable>(
        _ ask: (@escaping @Sendable (Answer) -> Void) -> Bool
    ) async -> Answer? {
        await withCheckedContinuation { continuation in
            // DelegateReference replies at most once, and never for a method that is missing.
            if !ask({ continuation.resume(returning: $0) }) { continuation.resume(returning: nil) }
        }
    }
}
