import Foundation
import TestSupport
import URLLoading

/// Records the callbacks of data tasks, and answers challenges and delayed requests as the test specifies.
final class AnsweringDelegate: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    // Sendable: the recorders guard themselves, the rest is set before the delegate is used.
    typealias ChallengeReply = @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    typealias DelayReply = @Sendable (URLSession.DelayedRequestDisposition, URLRequest?) -> Void

    let calls = EventRecorder<Call>()
    let faults = EventRecorder<String>()
    /// The queue on which callbacks must run, if known.
    var queue: OperationQueue?
    var challenge: @Sendable (@escaping ChallengeReply) -> Void = { _ in }
    var delay: @Sendable (URLRequest, @escaping DelayReply) -> Void = { $1(.continueLoading, nil) }

    func callsUntilInvalid() async throws -> [Call] {
        try await calls.waitUntil("the session's end") { $0.last == .invalid }.joined
    }

    private func note(_ call: Call) {
        if let queue, OperationQueue.current !== queue { faults.record("\(call) outside the delegate queue") }
        if Thread.isMainThread { faults.record("\(call) on the main thread") }
        calls.record(call)
    }

    func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask) {
        // On the caller's thread by contract.
        calls.record(.created(task.taskIdentifier))
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willBeginDelayedRequest request: URLRequest,
        completionHandler: @escaping DelayReply
    ) {
        note(.delayed(task.taskIdentifier))
        delay(request, completionHandler)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping ChallengeReply
    ) {
        note(
            .challenge(
                task.taskIdentifier, challenge.protectionSpace.summary, challenge.previousFailureCount))
        self.challenge(completionHandler)
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        note(.response(dataTask.taskIdentifier, (response as? HTTPURLResponse)?.statusCode ?? 0))
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        note(.data(dataTask.taskIdentifier, String(decoding: data, as: UTF8.self)))
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        note(.metrics(task.taskIdentifier))
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        note(.completed(task.taskIdentifier, error?.urlErrorCode))
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) { note(.invalid) }
}
