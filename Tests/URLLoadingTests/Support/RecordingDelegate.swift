import Foundation
import TestSupport
import URLLoading

/// Records all callbacks, and those on a wrong thread or at a wrong time.
class RecordingDelegate: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    // Sendable: the recorders guard themselves, the rest is set before the delegate is used.
    let calls = EventRecorder<Call>()
    /// Overlapping callbacks of a task, callbacks on the main thread, and callbacks outside `queue`.
    let faults = EventRecorder<String>()
    private let active = Watched<[Int: Int]>([:])
    private let most = Watched(0)

    /// The queue on which callbacks must run, if known.
    var queue: OperationQueue?
    /// Called in each callback after it was recorded.
    var during: @Sendable (Call, URLSession, URLSessionTask?) -> Void = { _, _, _ in }
    /// The answer to a response.
    var answer: @Sendable (URLSessionDataTask, @escaping @Sendable (URLSession.ResponseDisposition) -> Void) -> Void = {
        $1(.allow)
    }
    /// Called when a data task has become a download task.
    var became: @Sendable (URLSessionDownloadTask) -> Void = { _ in }
    /// Called when a data task has become a stream task.
    var becameStream: @Sendable (URLSessionStreamTask) -> Void = { _ in }
    /// The answer to a redirect.
    var redirect: @Sendable (URLRequest, @escaping @Sendable (URLRequest?) -> Void) -> Void = { $1($0) }
    /// The answer to a challenge. If nil, default handling applies, and nothing is recorded.
    var challenge: (@Sendable (URLAuthenticationChallenge, @escaping ChallengeHandler) -> Void)?
    /// The answer for a delayed request. If nil, loading continues, and nothing is recorded.
    var delay: (@Sendable (URLRequest, @escaping AnsweringDelegate.DelayReply) -> Void)?
    /// The answer to `willCacheResponse`. If nil, the proposal is stored, and nothing is recorded.
    var keep: (@Sendable (URLSessionDataTask, CachedURLResponse, @escaping KeepReply) -> Void)?
    /// The answer to `needNewBodyStream`, with the number of the call from 0.
    var stream: @Sendable (Int, @escaping @Sendable (InputStream?) -> Void) -> Void = { $1(nil) }
    /// The answer to `needNewBodyStreamFrom`.
    var streamFrom: @Sendable (Int64, @escaping @Sendable (InputStream?) -> Void) -> Void = { $1(nil) }
    private let streamCount = Watched(0)
    let proposed = EventRecorder<URLRequest>()
    let metrics = EventRecorder<URLSessionTaskMetrics>()

    /// The maximum number of concurrent callbacks.
    var mostAtOnce: Int { most.current }

    func note(_ call: Call, _ session: URLSession, _ task: URLSessionTask?) {
        let key = task?.taskIdentifier ?? 0
        let count = active.withValue { active in
            active[key, default: 0] += 1
            return (active[key] ?? 0, active.values.reduce(0, +))
        }
        most.withValue { $0 = max($0, count.1) }
        if count.0 > 1 { faults.record("\(call) while another call of that task ran") }
        if Thread.isMainThread { faults.record("\(call) on the main thread") }
        if let queue, OperationQueue.current !== queue { faults.record("\(call) outside the delegate queue") }
        calls.record(call)
        during(call, session, task)
        active.withValue { $0[key, default: 0] -= 1 }
    }

    typealias KeepReply = @Sendable (CachedURLResponse?) -> Void
    typealias ChallengeHandler = @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void

    // MARK: Waiting

    /// All callbacks, with adjacent data joined, after a number of tasks have completed.
    func calls(untilCompletions count: Int) async throws -> [Call] {
        try await calls.waitUntil("\(count) completions") { $0.completionCount >= count }.joined
    }

    /// All callbacks, with adjacent data joined, after the session has become invalid.
    func callsUntilInvalid(within deadline: Duration = .testDeadline) async throws -> [Call] {
        try await calls.waitUntil("the session's end", within: deadline) { $0.last == .invalid }.joined
    }

    // MARK: Calls

    func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask) {
        // On the caller's thread by contract.
        calls.record(.created(task.taskIdentifier))
        during(.created(task.taskIdentifier), session, task)
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposedResponse: CachedURLResponse,
        completionHandler: @escaping KeepReply
    ) {
        guard let keep else { return completionHandler(proposedResponse) }
        note(.willCache(dataTask.taskIdentifier, proposedResponse.data.count), session, dataTask)
        keep(dataTask, proposedResponse, completionHandler)
    }

    func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {
        note(.waiting(task.taskIdentifier), session, task)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceiveInformationalResponse response: HTTPURLResponse
    ) {
        note(.informational(task.taskIdentifier, response.statusCode), session, task)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willBeginDelayedRequest request: URLRequest,
        completionHandler: @escaping AnsweringDelegate.DelayReply
    ) {
        guard let answer = delay else { return completionHandler(.continueLoading, nil) }
        note(.delayed(task.taskIdentifier), session, task)
        answer(request, completionHandler)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        proposed.record(request)
        note(.redirect(task.taskIdentifier, response.statusCode), session, task)
        redirect(request, completionHandler)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping ChallengeHandler
    ) {
        guard let answer = self.challenge else { return completionHandler(.performDefaultHandling, nil) }
        note(
            .challenge(task.taskIdentifier, challenge.protectionSpace.summary, challenge.previousFailureCount),
            session, task)
        answer(challenge, completionHandler)
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        note(.response(dataTask.taskIdentifier, (response as? HTTPURLResponse)?.statusCode ?? 0), session, dataTask)
        answer(dataTask, completionHandler)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        note(.data(dataTask.taskIdentifier, String(decoding: data, as: UTF8.self)), session, dataTask)
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didBecome downloadTask: URLSessionDownloadTask
    ) {
        note(.became(dataTask.taskIdentifier, downloadTask.taskIdentifier), session, dataTask)
        became(downloadTask)
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didBecome streamTask: URLSessionStreamTask
    ) {
        note(.became(dataTask.taskIdentifier, streamTask.taskIdentifier), session, dataTask)
        becameStream(streamTask)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        note(.needsStream(task.taskIdentifier, 0), session, task)
        let number = streamCount.withValue { count in
            defer { count += 1 }
            return count
        }
        stream(number, completionHandler)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, needNewBodyStreamFrom offset: Int64,
        completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        note(.needsStream(task.taskIdentifier, offset), session, task)
        streamFrom(offset, completionHandler)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        note(.sent(task.taskIdentifier, totalBytesSent, totalBytesExpectedToSend), session, task)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        self.metrics.record(metrics)
        note(.metrics(task.taskIdentifier), session, task)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        note(.completed(task.taskIdentifier, error?.urlErrorCode), session, task)
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        if let error { faults.record("invalid with \(error)") }
        note(.invalid, session, nil)
    }
}

extension URLProtectionSpace {
    /// The method and the realm.
    var summary: String {
        let method = authenticationMethod.replacingOccurrences(of: "NSURLAuthenticationMethod", with: "")
        return realm.map { "\(method) \($0)" } ?? method
    }
}
