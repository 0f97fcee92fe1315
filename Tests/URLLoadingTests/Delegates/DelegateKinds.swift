import Foundation
import URLLoading

// Delegate classes of every kind users write, each against the same protocols.

/// Implements nothing.
final class EmptyDelegate: NSObject, URLSessionDataDelegate {}

/// Conforms to `URLSessionDelegate` only.
final class SessionOnlyDelegate: NSObject, URLSessionDelegate {}

/// Completion handlers without `@Sendable`, as in older code.
final class HandlerDelegate: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    var bytes = 0

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
    ) {
        completionHandler(.becomeDownload)
        completionHandler(.cancel)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        bytes += data.count
    }
}

/// The `async` variants.
final class AsyncDelegate: NSObject, URLSessionDataDelegate {
    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse
    ) async -> URLSession.ResponseDisposition {
        .becomeStream
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
        await Task.yield()
        return (.rejectProtectionSpace, nil)
    }
}

/// Confined to the main actor.
@MainActor final class MainActorDelegate: NSObject, URLSessionDataDelegate {
    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse
    ) async -> URLSession.ResponseDisposition {
        MainActor.assertIsolated()
        return .cancel
    }
}

/// Conforms in an extension.
final class ExtendedDelegate: NSObject, Sendable {}

extension ExtendedDelegate: URLSessionDataDelegate {
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }
}

/// A base class and a subclass that overrides its method.
class BaseDelegate: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        completionHandler(.allow)
    }
}

final class OverridingDelegate: BaseDelegate, @unchecked Sendable {
    override func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        completionHandler(.cancel)
    }
}

/// Keeps the completion handler, and calls it later on another thread.
final class LateDelegate: NSObject, URLSessionDataDelegate {
    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        Thread.detachNewThread { completionHandler(.becomeDownload) }
    }
}

/// Forwards everything to another delegate, as test doubles and loggers do.
final class ForwardingDelegate: NSObject, URLSessionDataDelegate {
    let other: any URLSessionDataDelegate

    init(_ other: any URLSessionDataDelegate) { self.other = other }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        other.urlSession(session, dataTask: dataTask, didReceive: response, completionHandler: completionHandler)
    }
}

/// Body streams, in both variants.
final class StreamDelegateWithHandler: NSObject, URLSessionTaskDelegate {
    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        completionHandler(InputStream(data: Data([1])))
    }
}

final class StreamDelegateWithAsync: NSObject, URLSessionTaskDelegate {
    func urlSession(_ session: URLSession, needNewBodyStreamForTask task: URLSessionTask) async -> InputStream? {
        InputStream(data: Data([2]))
    }
}

/// Implements the only required method.
final class DownloadDelegate: NSObject, URLSessionDownloadDelegate {
    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {}
}
