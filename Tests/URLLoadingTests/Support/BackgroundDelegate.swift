import Foundation
import TestSupport
import URLLoading

/// Records the callbacks of a background session.
final class BackgroundDelegate: NSObject, URLSessionDownloadDelegate, URLSessionDataDelegate, @unchecked Sendable {
    // Sendable: the recorders guard themselves, the rest is set before the delegate is used.
    let calls = EventRecorder<Call>()
    let contents = EventRecorder<Data>()
    let locations = EventRecorder<URL>()
    let errors = EventRecorder<URLError?>()
    let metrics = EventRecorder<URLSessionTaskMetrics>()
    /// Called before the file of a download is read.
    var didFinish: @Sendable (URLSessionDownloadTask, URL) -> Void = { _, _ in }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        calls.record(.wrote(downloadTask.taskIdentifier, totalBytesWritten, totalBytesExpectedToWrite))
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        calls.record(.sent(task.taskIdentifier, totalBytesSent, totalBytesExpectedToSend))
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        calls.record(.resumed(downloadTask.taskIdentifier, fileOffset, expectedTotalBytes))
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        didFinish(downloadTask, location)
        locations.record(location)
        let content = (try? Data(contentsOf: location)) ?? Data()
        contents.record(content)
        calls.record(.downloaded(downloadTask.taskIdentifier, content.count))
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        contents.record(data)
        calls.record(.data(dataTask.taskIdentifier, String(decoding: data, as: UTF8.self)))
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        calls.record(.response(dataTask.taskIdentifier, (response as? HTTPURLResponse)?.statusCode ?? 0))
        completionHandler(.allow)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        calls.record(.redirect(task.taskIdentifier, response.statusCode))
        completionHandler(nil)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        self.metrics.record(metrics)
        calls.record(.metrics(task.taskIdentifier))
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        errors.record(error as? URLError)
        calls.record(.completed(task.taskIdentifier, error?.urlErrorCode))
    }

    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) { calls.record(.finishedEvents) }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) { calls.record(.invalid) }
}

/// A delegate that answers challenges.
final class BackgroundChallengeDelegate: NSObject, URLSessionDownloadDelegate, @unchecked Sendable {
    // Sendable: the recorder guards itself, the rest is set before the delegate is used.
    typealias Reply = @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void

    let calls = EventRecorder<Call>()
    let answer: @Sendable (URLAuthenticationChallenge, @escaping Reply) -> Void

    init(_ answer: @escaping @Sendable (URLAuthenticationChallenge, @escaping Reply) -> Void) { self.answer = answer }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping Reply
    ) {
        calls.record(.challenge(task.taskIdentifier, challenge.protectionSpace.summary, challenge.previousFailureCount))
        answer(challenge, completionHandler)
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        calls.record(.downloaded(downloadTask.taskIdentifier, (try? Data(contentsOf: location))?.count ?? -1))
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        calls.record(.completed(task.taskIdentifier, error?.urlErrorCode))
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) { calls.record(.invalid) }
}
