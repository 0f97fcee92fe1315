import Foundation
import URLLoading

/// A session delegate with the fewest useful methods.
final class MinimalDelegate: NSObject, URLSessionDataDelegate, Sendable {
    let requests = RequestIndex()
    let record: SessionRecord

    init(_ record: SessionRecord) { self.record = record }

    func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask) {
        requests.request(of: task)?.created(task)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        requests.request(of: dataTask)?.received(data)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        requests.request(of: task)?.ended(error)
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) { record.becameInvalid() }
}

/// A session delegate that implements all methods.
final class FullDelegate: NSObject, URLSessionDataDelegate, Sendable {
    let requests = RequestIndex()
    let record: SessionRecord

    init(_ record: SessionRecord) { self.record = record }

    func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask) {
        requests.request(of: task)?.created(task)
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        guard let request = requests.request(of: dataTask) else { return completionHandler(.allow) }
        request.received(response, answer: completionHandler)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        guard let soaking = requests.request(of: task) else { return completionHandler(request) }
        soaking.redirected(to: request, answer: completionHandler)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceiveInformationalResponse response: HTTPURLResponse
    ) {}

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {}

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
    ) {}

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        requests.request(of: dataTask)?.received(data)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        requests.request(of: task)?.ended(error)
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) { record.becameInvalid() }
}

/// A delegate for one task.
final class TaskDelegate: NSObject, URLSessionDataDelegate, Sendable {
    private let request: SoakRequest

    init(_ request: SoakRequest) { self.request = request }

    func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask) { request.created(task) }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        request.received(data)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        request.ended(error)
    }
}
