import Foundation
import FoundationNetworking
import TestSupport
import Testing

/// Forwards its events to another delegate, with calls of optional methods.
private final class ForwardingDelegate: NSObject {
    let original: URLSessionDelegate?
    var onEnd: ((Error?) -> Void)?
    /// A property of this name is common, and is not one of the methods.
    private var urlSession: URLSession?

    init(_ original: URLSessionDelegate?) {
        self.original = original
    }

    func load(_ url: URL) {
        let urlSession = URLSession(configuration: .ephemeral, delegate: self, delegateQueue: nil)
        self.urlSession = urlSession
        urlSession.dataTask(with: url).resume()
    }

    func finish() {
        guard let session = urlSession else { return }
        session.finishTasksAndInvalidate()
        urlSession?.finishTasksAndInvalidate()
        urlSession = nil
    }
}

extension ForwardingDelegate: URLSessionDataDelegate {
    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: Error?) {
        original?.urlSession?(session, didBecomeInvalidWithError: error)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping (URLRequest?) -> Void
    ) {
        (original as? URLSessionTaskDelegate)?.urlSession?(
            session, task: task, willPerformHTTPRedirection: response, newRequest: request,
            completionHandler: completionHandler) ?? completionHandler(request)
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
    ) {
        if let delegate = original as? URLSessionDataDelegate,
            delegate.urlSession?(
                session, dataTask: dataTask, didReceive: response, completionHandler: completionHandler) != nil
        {
            return
        }
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        guard let delegate = original as? URLSessionDataDelegate else { return }
        delegate.urlSession?(session, dataTask: dataTask, didReceive: data)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: Error?) {
        (original as? URLSessionTaskDelegate)?.urlSession?(session, task: task, didCompleteWithError: error)
        onEnd?(error)
        finish()
    }
}

private final class Listener: NSObject, URLSessionDataDelegate {
    var received = Data()
    var ends = 0

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) { received += data }
    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: Error?) { ends += 1 }
}

@Suite struct ForwardingTests {
    // T-66
    @Test("a delegate that passes events on") func aDelegateThatPassesEventsOn() async throws {
        let server = try ScriptedServer.answering { $0.path == "/" ? .redirect(to: "/there") : .text("body") }
        defer { server.stop() }
        let listener = Listener()
        for original in [listener, nil] {
            let delegate = ForwardingDelegate(original)
            let error: Error? = await withCheckedContinuation { continuation in
                delegate.onEnd = { continuation.resume(returning: $0) }
                delegate.load(server.url())
            }
            #expect(error == nil)
        }
        #expect(listener.received == Data("body".utf8))
        #expect(listener.ends == 1)
    }
}
