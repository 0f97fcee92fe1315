import Dispatch
import Foundation
import URLLoading

/// Implements `--trace`: prints every delegate callback and the value passed to its completion handler.
///
/// It is the session's delegate and forwards each callback to `target`. Header fields and user information of URLs are
/// not printed.
///
/// The delegates are used on the delegate queue only.
final class DelegateTrace:
    NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate, URLSessionWebSocketDelegate, URLSessionStreamDelegate,
    Sendable
{
    private let target: any URLSessionTaskDelegate
    private let data: (any URLSessionDataDelegate)?
    private let download: (any URLSessionDownloadDelegate)?
    private let webSocket: (any URLSessionWebSocketDelegate)?
    private let stream: (any URLSessionStreamDelegate)?
    private let started: UInt64
    private let write: @Sendable (String) -> Void
    private let ended = DispatchSemaphore(value: 0)

    init(
        _ target: any URLSessionTaskDelegate,
        write: @escaping @Sendable (String) -> Void = { StandardError.write($0) }
    ) {
        self.target = target
        self.write = write
        data = target as? any URLSessionDataDelegate
        download = target as? any URLSessionDownloadDelegate
        webSocket = target as? any URLSessionWebSocketDelegate
        stream = target as? any URLSessionStreamDelegate
        started = DispatchTime.now().uptimeNanoseconds
    }

    /// Waits until the last callback has been printed.
    func waitForEnd() { ended.wait() }

    // MARK: Lines

    /// `   12.34 ms  thread 4711, queue name  urlSession(_:task:didCompleteWithError:)  facts`
    private func call(_ facts: String, _ method: String = #function) { line(method, facts) }

    private func answered(_ answer: String, _ method: String = #function) { line("  answer to " + method, answer) }

    private func line(_ what: String, _ facts: String) {
        let milliseconds = Double(DispatchTime.now().uptimeNanoseconds - started) / 1e6
        let time = (Quantity.fixed(milliseconds, 3) + " ms").rightAligned(13)
        let queue = OperationQueue.current?.name.map { ", \($0)" } ?? ""
        write("\(time)  [thread \(Self.thread)\(queue)]  \(what)" + (facts.isEmpty ? "" : "  " + facts) + "\n")
    }

    /// The kernel's id of the current thread.
    private static var thread: String {
        let link = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")
        return link?.split(separator: "/").last.map(String.init) ?? "?"
    }

    private func shown(_ task: URLSessionTask) -> String { "task \(task.taskIdentifier)" }

    private func shown(_ url: URL?) -> String {
        TextSanitizer.clean(SecretText.hiding(in: url?.absoluteString ?? "no URL", as: .address))
    }

    private func shown(_ request: URLRequest?) -> String {
        "\(TextSanitizer.clean(request?.httpMethod ?? "GET")) \(shown(request?.url))"
    }

    private func shown(_ response: URLResponse) -> String {
        let status = (response as? HTTPURLResponse).map { "\($0.statusCode)" } ?? "no status"
        let length = response.expectedContentLength
        return [
            status, response.mimeType.map { TextSanitizer.clean($0) }, length < 0 ? nil : "\(length) bytes expected",
        ]
        .compactMap { $0 }.joined(separator: ", ")
    }

    private func shown(_ challenge: URLAuthenticationChallenge) -> String {
        let space = challenge.protectionSpace
        let method = space.authenticationMethod.replacing("NSURLAuthenticationMethod", with: "")
        let failures = challenge.previousFailureCount
        return "\(method) of \(TextSanitizer.clean(space.host)):\(space.port)"
            + (failures == 0 ? "" : ", failed \(Quantity.count(failures, "time"))")
    }

    private func shown(_ disposition: URLSession.AuthChallengeDisposition, _ credential: URLCredential?) -> String {
        let name =
            switch disposition {
            case .useCredential: "useCredential"
            case .performDefaultHandling: "performDefaultHandling"
            case .cancelAuthenticationChallenge: "cancelAuthenticationChallenge"
            case .rejectProtectionSpace: "rejectProtectionSpace"
            @unknown default: "disposition \(disposition.rawValue)"
            }
        return credential == nil ? name : name + ", a credential"
    }

    private func shown(_ error: (any Error)?) -> String {
        guard let error else { return "no error" }
        let failure = error as NSError
        let code = (error as? URLError)?.errorCode ?? failure.code
        return "\(failure.domain) \(code): \(TextSanitizer.clean(error.localizedDescription))"
    }

    private func of(_ total: Int64) -> String { total < 0 ? "" : " of \(total)" }

    // MARK: URLSessionDelegate

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        call(shown(error))
        target.urlSession(session, didBecomeInvalidWithError: error)
        ended.signal()
    }

    func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        call(shown(challenge))
        let method = #function
        target.urlSession(session, didReceive: challenge) { [self] disposition, credential in
            answered(shown(disposition, credential), method)
            completionHandler(disposition, credential)
        }
    }

    // MARK: URLSessionTaskDelegate

    func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask) {
        call("\(shown(task)), \(shown(task.originalRequest))")
        target.urlSession(session, didCreateTask: task)
    }

    func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {
        call(shown(task))
        target.urlSession(session, taskIsWaitingForConnectivity: task)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        call("\(shown(task)), \(shown(challenge))")
        let method = #function
        target.urlSession(session, task: task, didReceive: challenge) { [self] disposition, credential in
            answered(shown(disposition, credential), method)
            completionHandler(disposition, credential)
        }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        call("\(shown(task)), \(response.statusCode) to \(shown(request))")
        let method = #function
        target.urlSession(session, task: task, willPerformHTTPRedirection: response, newRequest: request) {
            [self] next in
            answered(next.map { shown($0) } ?? "do not follow", method)
            completionHandler(next)
        }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        call("\(shown(task)), \(bytesSent) bytes, \(totalBytesSent)\(of(totalBytesExpectedToSend))")
        target.urlSession(
            session, task: task, didSendBodyData: bytesSent, totalBytesSent: totalBytesSent,
            totalBytesExpectedToSend: totalBytesExpectedToSend)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        call(shown(task))
        let method = #function
        target.urlSession(
            session, task: task,
            needNewBodyStream: { [self] stream in
                answered(stream == nil ? "no stream" : "a stream", method)
                completionHandler(stream)
            })
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceiveInformationalResponse response: HTTPURLResponse
    ) {
        call("\(shown(task)), \(response.statusCode)")
        target.urlSession(session, task: task, didReceiveInformationalResponse: response)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        let duration = Quantity.milliseconds(metrics.taskInterval.duration)
        let (redirects, transactions) = (metrics.redirectCount, metrics.transactionMetrics.count)
        let counts = [Quantity.count(transactions, "transaction"), Quantity.count(redirects, "redirect")]
        call("\(shown(task)), \(counts.joined(separator: ", ")), \(duration)")
        target.urlSession(session, task: task, didFinishCollecting: metrics)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        call("\(shown(task)), \(shown(error))")
        target.urlSession(session, task: task, didCompleteWithError: error)
    }

    // MARK: URLSessionDataDelegate

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        call("\(shown(dataTask)), \(shown(response))")
        let method = #function
        guard let data else { return completionHandler(.allow) }
        data.urlSession(session, dataTask: dataTask, didReceive: response) { [self] disposition in
            answered(
                disposition == .allow ? "allow" : disposition == .cancel ? "cancel" : "become another task", method)
            completionHandler(disposition)
        }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        call("\(shown(dataTask)), \(data.count) bytes")
        self.data?.urlSession(session, dataTask: dataTask, didReceive: data)
    }

    // MARK: URLSessionDownloadDelegate

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        call("\(shown(downloadTask)), at \(fileOffset)\(of(expectedTotalBytes))")
        download?.urlSession(
            session, downloadTask: downloadTask, didResumeAtOffset: fileOffset, expectedTotalBytes: expectedTotalBytes)
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        call("\(shown(downloadTask)), \(bytesWritten) bytes, \(totalBytesWritten)\(of(totalBytesExpectedToWrite))")
        download?.urlSession(
            session, downloadTask: downloadTask, didWriteData: bytesWritten, totalBytesWritten: totalBytesWritten,
            totalBytesExpectedToWrite: totalBytesExpectedToWrite)
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        call("\(shown(downloadTask)), \(TextSanitizer.clean(location.lastPathComponent))")
        download?.urlSession(session, downloadTask: downloadTask, didFinishDownloadingTo: location)
    }

    // MARK: URLSessionWebSocketDelegate

    func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask, didOpenWithProtocol protocol: String?
    ) {
        // It may be a token (`SecretFields`).
        call("\(shown(webSocketTask)), \(`protocol` == nil ? "no" : "a") subprotocol")
        webSocket?.urlSession(session, webSocketTask: webSocketTask, didOpenWithProtocol: `protocol`)
    }

    func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
        didCloseWith closeCode: URLSessionWebSocketTask.CloseCode, reason: Data?
    ) {
        let text = TextSanitizer.clean(String(decoding: reason ?? Data(), as: UTF8.self))
        call("\(shown(webSocketTask)), \(closeCode.rawValue)" + (text.isEmpty ? "" : ", \(text)"))
        webSocket?.urlSession(session, webSocketTask: webSocketTask, didCloseWith: closeCode, reason: reason)
    }

    // MARK: URLSessionStreamDelegate

    func urlSession(_ session: URLSession, readClosedFor streamTask: URLSessionStreamTask) {
        call(shown(streamTask))
        stream?.urlSession(session, readClosedFor: streamTask)
    }

    func urlSession(_ session: URLSession, writeClosedFor streamTask: URLSessionStreamTask) {
        call(shown(streamTask))
        stream?.urlSession(session, writeClosedFor: streamTask)
    }
}
