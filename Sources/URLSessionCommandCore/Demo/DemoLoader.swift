import Dispatch
import Foundation
import URLLoading

/// Runs the demo's loads one after another in one session, so that connections are reused.
///
/// Unchecked: `outcome` is confined to the delegate queue while a load runs, and to the caller before and after; the
/// semaphore orders them. `lock` guards the task, its progress bar and the stop flag, which the signal handler also
/// uses.
final class DemoLoader: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    /// The result of one load.
    struct Outcome {
        static let keptBytes = 4096

        var response: HTTPURLResponse?
        /// The first bytes of the body.
        var body = Data()
        var received: Int64 = 0
        var pieces = 0
        var redirects = 0
        var fileSize: Int64?
        var error: (any Error)?
        var metrics: URLSessionTaskMetrics?
    }

    private let finished = DispatchSemaphore(value: 0)
    private let lock = NSLock()
    private var task: URLSessionTask?
    private var isStopped = false
    private var outcome = Outcome()
    private var progress: ProgressBar?
    private var onData: (Data) -> Void = { _ in }

    func load(
        _ task: URLSessionTask, progress: ProgressBar? = nil, onData: @escaping (Data) -> Void = { _ in }
    ) -> Outcome {
        outcome = Outcome()
        self.onData = onData
        lock.withLock {
            self.progress = progress
            self.task = task
            if isStopped { task.cancel() }
        }
        progress?.begin()
        task.resume()
        finished.wait()
        progress?.end()
        return outcome
    }

    /// Cancels the current load and all later ones.
    func stop() {
        lock.withLock {
            isStopped = true
            progress?.end()
            task?.cancel()
        }
    }

    var wasStopped: Bool { lock.withLock { isStopped } }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        outcome.redirects += 1
        completionHandler(request)
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        outcome.response = response as? HTTPURLResponse
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        outcome.received += Int64(data.count)
        outcome.pieces += 1
        outcome.body += data.prefix(max(0, Outcome.keptBytes - outcome.body.count))
        onData(data)
        lock.withLock { progress }?.update(
            received: outcome.received, expected: outcome.response?.expectedContentLength ?? -1)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        outcome.metrics = metrics
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        outcome.error = error
        finished.signal()
    }
}
