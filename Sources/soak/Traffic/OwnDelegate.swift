import Foundation
import URLLoading

/// A delegate for one task.
final class OwnDelegate: NSObject, URLSessionDataDelegate, Sendable {
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
