import Foundation
import TestSupport
import URLLoading

/// Records the callbacks of delegates, and has their answers to challenges.
final class ChallengeLog: @unchecked Sendable {
    // Sendable: the recorders guard themselves, the rest is set before the delegate is used.
    typealias Reply = @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void

    let calls = EventRecorder<String>()
    let faults = EventRecorder<String>()
    let errors = EventRecorder<URLError>()
    /// The queue on which callbacks must run, if known.
    var queue: OperationQueue?
    /// The answer to a challenge.
    var answer: @Sendable (URLAuthenticationChallenge, @escaping Reply) -> Void

    init(_ answer: @escaping @Sendable (URLAuthenticationChallenge, @escaping Reply) -> Void) { self.answer = answer }

    /// Always gives the same answer. The default credential is the challenge's trust.
    convenience init(
        _ disposition: URLSession.AuthChallengeDisposition, _ credential: URLCredential? = nil
    ) { self.init { $1(disposition, credential) } }

    /// Trusts any server.
    static func trusting() -> ChallengeLog {
        ChallengeLog { challenge, reply in
            guard let trust = challenge.protectionSpace.serverTrust else { return reply(.performDefaultHandling, nil) }
            reply(.useCredential, URLCredential(trust: trust))
        }
    }

    func note(_ call: String) {
        if Thread.isMainThread { faults.record("\(call) on the main thread") }
        if let queue, OperationQueue.current !== queue { faults.record("\(call) outside the delegate queue") }
        calls.record(call)
    }

    func note(_ challenge: URLAuthenticationChallenge, _ level: String) {
        let space = challenge.protectionSpace
        let method = space.authenticationMethod.replacingOccurrences(of: "NSURLAuthenticationMethod", with: "")
        if challenge.previousFailureCount != 0 || challenge.proposedCredential != nil || challenge.error != nil
            || challenge.failureResponse != nil || space.isProxy() || space.realm != nil || space.protocol != "https"
        {
            faults.record("\(challenge)")
        }
        note("\(level) is asked: \(method) of \(space.host)")
    }

    func callsUntilInvalid() async throws -> [String] {
        try await calls.waitUntil("the session's end") { $0.last == "invalid" }
    }
}

/// A delegate that records its callbacks. Conforming types select their challenge methods.
protocol ChallengeLogging: URLSessionDataDelegate {
    var log: ChallengeLog { get }
}

extension ChallengeLogging {
    func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask) {
        log.calls.record("created \(task.taskIdentifier)")
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        log.note("\(dataTask.taskIdentifier) response \((response as? HTTPURLResponse)?.statusCode ?? 0)")
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        log.note("\(dataTask.taskIdentifier) data \(String(decoding: data, as: UTF8.self))")
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        log.note("\(task.taskIdentifier) metrics")
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        if let error = error as? URLError { log.errors.record(error) }
        log.note("\(task.taskIdentifier) completed \(error.map { ($0 as NSError).code } ?? 0)")
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) { log.note("invalid") }
}

/// Implements no challenge method.
final class UnaskedDelegate: NSObject, ChallengeLogging {
    let log: ChallengeLog
    init(_ log: ChallengeLog) { self.log = log }
}

/// Implements the session-level method.
final class SessionLevelDelegate: NSObject, ChallengeLogging {
    let log: ChallengeLog
    init(_ log: ChallengeLog) { self.log = log }

    func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        log.note(challenge, "the session")
        log.answer(challenge, completionHandler)
    }
}

/// Implements the task-level method.
final class TaskLevelDelegate: NSObject, ChallengeLogging {
    let log: ChallengeLog
    let name: String
    init(_ log: ChallengeLog, name: String = "task") {
        self.log = log
        self.name = name
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        log.note(challenge, "\(name) \(task.taskIdentifier)")
        log.answer(challenge, completionHandler)
    }
}

/// Implements both methods.
final class BothLevelsDelegate: NSObject, ChallengeLogging {
    let log: ChallengeLog
    init(_ log: ChallengeLog) { self.log = log }

    func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        log.note(challenge, "the session")
        log.answer(challenge, completionHandler)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        log.note(challenge, "task \(task.taskIdentifier)")
        log.answer(challenge, completionHandler)
    }
}

/// Implements the `async` session-level method.
final class AsyncSessionLevelDelegate: NSObject, ChallengeLogging {
    let log: ChallengeLog
    init(_ log: ChallengeLog) { self.log = log }

    func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
        log.note(challenge, "the session")
        return await withCheckedContinuation { continuation in
            log.answer(challenge) { continuation.resume(returning: ($0, $1)) }
        }
    }
}

/// Implements the `async` task-level method.
final class AsyncTaskLevelDelegate: NSObject, ChallengeLogging {
    let log: ChallengeLog
    init(_ log: ChallengeLog) { self.log = log }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
        log.note(challenge, "task \(task.taskIdentifier)")
        return await withCheckedContinuation { continuation in
            log.answer(challenge) { continuation.resume(returning: ($0, $1)) }
        }
    }
}
