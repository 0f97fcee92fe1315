import Foundation
import FoundationNetworking

/// A delegate with every method, which writes down its callbacks. What it answers can be set before the task begins;
/// without that, it answers what the absence of the method means.
final class Recorder: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate, URLSessionWebSocketDelegate {
    typealias Challenge =
        @Sendable (URLAuthenticationChallenge) -> (URLSession.AuthChallengeDisposition, URLCredential?)

    struct Answers: Sendable {
        var redirect: (@Sendable (HTTPURLResponse, URLRequest) -> URLRequest?)?
        var challenge: Challenge?
        var sessionChallenge: Challenge?
        var stream: (@Sendable () -> InputStream?)?
        /// Nil: not yet; the case calls `responseHandler`.
        var response: @Sendable (URLResponse) -> URLSession.ResponseDisposition? = { _ in .allow }
        var cache: (@Sendable (CachedURLResponse) -> CachedURLResponse?)?
        var finished: (@Sendable (URL) -> Void)?
        /// Called in every callback that is recorded, with its name.
        var event: (@Sendable (String) -> Void)?
    }

    let answers: Answers
    private let log = Locked<[String]>([])
    private let state = Locked(State())

    struct State: Sendable {
        var data = Data()
        var responses: [URLResponse] = []
        var errors: [NSError?] = []
        /// Of the errors.
        var codes: [Int?] { errors.map { $0?.code } }
        var challenges: [URLAuthenticationChallenge] = []
        var redirects: [URLRequest] = []
        var metrics: [URLSessionTaskMetrics] = []
        var file = Data()
        var location: URL?
        var written: [Int64] = []
        var sent: [[Int64]] = []
        var download: URLSessionDownloadTask?
        var responseHandler: (@Sendable (URLSession.ResponseDisposition) -> Void)?
        var invalidations = 0
        var closing: (code: URLSessionWebSocketTask.CloseCode, reason: Data?)?
        var openedWith: String?
    }

    init(_ set: (inout Answers) -> Void = { _ in }) {
        var answers = Answers()
        set(&answers)
        self.answers = answers
    }

    /// The callbacks in their order; those that repeat each other once.
    var events: [String] {
        log.value.reduce(into: []) { if $0.last != $1 { $0.append($1) } }
    }
    var seen: State { state.value }
    var isComplete: Bool { !seen.errors.isEmpty }

    func completion() async { await until { self.isComplete } }

    private func note(_ event: String, _ change: @Sendable (inout State) -> Void = { _ in }) {
        state.withLock(change)
        log.withLock { $0.append(event) }
        answers.event?(event)
    }

    // MARK: Session

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        note("invalid") { $0.invalidations += 1 }
    }

    func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        note("session challenge") { $0.challenges.append(challenge) }
        let (disposition, credential) = answers.sessionChallenge?(challenge) ?? (.performDefaultHandling, nil)
        completionHandler(disposition, credential)
    }

    // MARK: Task

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        note("redirect") { $0.redirects.append(request) }
        if let redirect = answers.redirect {
            completionHandler(redirect(response, request))
        } else {
            completionHandler(request)
        }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        note("challenge") { $0.challenges.append(challenge) }
        let (disposition, credential) = answers.challenge?(challenge) ?? (.performDefaultHandling, nil)
        completionHandler(disposition, credential)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        note("stream")
        completionHandler(answers.stream?())
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        note("sent") { $0.sent.append([bytesSent, totalBytesSent, totalBytesExpectedToSend]) }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        note("metrics") { $0.metrics.append(metrics) }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let error = error as NSError?
        note("complete") { $0.errors.append(error) }
    }

    // MARK: Data

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        note("response") {
            $0.responses.append(response)
            $0.responseHandler = completionHandler
        }
        if let disposition = answers.response(response) { completionHandler(disposition) }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didBecome downloadTask: URLSessionDownloadTask)
    {
        note("download") { $0.download = downloadTask }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        note("data") { $0.data += data }
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposedResponse: CachedURLResponse,
        completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
        note("cache")
        if let cache = answers.cache {
            completionHandler(cache(proposedResponse))
        } else {
            completionHandler(proposedResponse)
        }
    }

    // MARK: Download

    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
        let file = (try? Data(contentsOf: location)) ?? Data()
        answers.finished?(location)
        note("finished") {
            $0.file = file
            $0.location = location
        }
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    ) {
        note("written") { $0.written = [bytesWritten, totalBytesWritten, totalBytesExpectedToWrite] }
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        note("resumed at \(fileOffset) of \(expectedTotalBytes)")
    }

    // MARK: WebSocket

    func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask, didOpenWithProtocol protocol: String?
    ) {
        note("open") { $0.openedWith = `protocol` }
    }

    func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
        didCloseWith closeCode: URLSessionWebSocketTask.CloseCode,
        reason: Data?
    ) {
        note("closed") { $0.closing = (closeCode, reason) }
    }
}
