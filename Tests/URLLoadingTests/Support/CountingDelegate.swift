import Foundation
import TestSupport
import URLLoading

/// Counts the bytes of bodies that are too large to record.
final class CountingDelegate: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    // Sendable: what changes guards itself, the rest is set before the delegate is used.
    let received = Watched(0)
    let ended = Signal("the task's end")
    let error = Watched<URLError.Code?>(nil)
    var answer: @Sendable (URLSessionDataTask, @escaping @Sendable (URLSession.ResponseDisposition) -> Void) -> Void = {
        $1(.allow)
    }
    /// Called with the number of bytes so far.
    var during: @Sendable (Int, URLSessionDataTask) -> Void = { _, _ in }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        answer(dataTask, completionHandler)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let count = received.withValue {
            $0 += data.count
            return $0
        }
        during(count, dataTask)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        self.error.withValue { $0 = error?.urlErrorCode }
        ended.fire()
    }
}
