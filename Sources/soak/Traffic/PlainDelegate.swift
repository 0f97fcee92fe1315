import Foundation
import URLLoading

/// A session delegate with the fewest useful methods.
final class PlainDelegate: NSObject, URLSessionDataDelegate, Sendable {
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
