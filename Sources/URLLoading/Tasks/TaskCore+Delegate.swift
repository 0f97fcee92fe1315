internal import Foundation
internal import Synchronization

/// The calls of a task: each goes to the task's own delegate if that has the method, else to the session's (T-24).
extension TaskCore {
    /// Who may have a method, in the order in which they are asked.
    struct Delegates {
        var first: DelegateReference?
        var second: DelegateReference?

        var isEmpty: Bool { first == nil && second == nil }

        /// Whether anybody may have one of these methods.
        func mayHave(_ methods: DelegateMethod) -> Bool {
            first?.mayHave(methods) == true || second?.mayHave(methods) == true
        }

        /// Makes a call that has no answer: to the first, or when he turns out to lack it to the second.
        func call(_ method: DelegateMethod, _ body: (DelegateReference) -> Void) {
            if let first, first.mayHave(method) {
                body(first)
                if first.mayHave(method) { return }
            }
            if let second, second.mayHave(method) { body(second) }
        }

        /// Asks the first; when he turns out not to have the question's method, the second; else answers nil.
        func ask<Answer: Sendable>(
            _ body: @escaping @Sendable (DelegateReference, @escaping @Sendable (Answer?) -> Void) -> Void,
            _ answer: @escaping @Sendable (Answer?) -> Void
        ) {
            guard let asked = first ?? second else { return answer(nil) }
            let next = first == nil ? nil : second
            body(asked) { given in
                if let given { return answer(given) }
                if let next { body(next, answer) } else { answer(nil) }
            }
        }
    }

    // MARK: Which events anybody wants

    var wantsMetrics: Bool { delegates.mayHave(.taskDidFinishCollectingMetrics) }
    var wantsResponse: Bool {
        delegates.mayHave(.dataTaskDidReceiveResponse) || delegates.mayHave(.dataTaskDidReceiveResponseAsync)
    }
    var wantsRedirects: Bool {
        delegates.mayHave(.taskWillPerformRedirection) || delegates.mayHave(.taskWillPerformRedirectionAsync)
    }
    var wantsInformationalResponses: Bool { delegates.mayHave(.taskDidReceiveInformationalResponse) }
    var wantsSentBody: Bool { delegates.mayHave(.taskDidSendBodyData) }

    // MARK: Calls

    /// The first message of a task, within the call that makes it and on its thread (T-26).
    func announce(_ task: URLSessionTask, of session: URLSession) {
        delegates.call(.taskDidCreate) { $0.task?.urlSession(session, didCreateTask: task) }
    }

    func call(_ event: TaskEvent, _ session: URLSession, _ task: URLSessionTask) {
        switch event {
        case .waitingForConnectivity:
            delegates.call(.taskIsWaitingForConnectivity) {
                $0.task?.urlSession(session, taskIsWaitingForConnectivity: task)
            }
        case .informationalResponse(let response):
            delegates.call(.taskDidReceiveInformationalResponse) {
                $0.task?.urlSession(session, task: task, didReceiveInformationalResponse: response)
            }
        case .sentBody(let count, let total, let expected):
            delegates.call(.taskDidSendBodyData) {
                $0.task?.urlSession(
                    session, task: task, didSendBodyData: count, totalBytesSent: total,
                    totalBytesExpectedToSend: expected)
            }
        case .data(let data):
            guard let task = task as? URLSessionDataTask else { return }
            delegates.call(.dataTaskDidReceiveData) { $0.data?.urlSession(session, dataTask: task, didReceive: data) }
        case .response(let response):
            guard let task = task as? URLSessionDataTask else { return answer(.allow) }
            let once = Once()
            delegates.ask({ $0.didReceive(response, session, task, $1) }) { disposition in
                once.perform { self.answer(disposition ?? .allow) }
            }
        case .redirect(let response, let proposed):
            let once = Once()
            delegates.ask({ $0.willPerformRedirection(response, proposed, session, task, $1) }) { answer in
                once.perform { self.answerRedirect(answer ?? proposed) }
            }
        }
    }

    /// Tells the end: a body that was kept for it, metrics, then the result (T-20, T-39).
    func tellEnd(
        _ error: (any Error)?, body: Data?, metrics: URLSessionTaskMetrics?, _ session: URLSession, _ task: URLSessionTask
    ) {
        if case .delegate = result, error == nil, let body, !body.isEmpty, let task = task as? URLSessionDataTask {
            delegates.call(.dataTaskDidReceiveData) { $0.data?.urlSession(session, dataTask: task, didReceive: body) }
        }
        if let metrics {
            delegates.call(.taskDidFinishCollectingMetrics) {
                $0.task?.urlSession(session, task: task, didFinishCollecting: metrics)
            }
        }
        switch result {
        case .delegate:
            delegates.call(.taskDidComplete) { $0.task?.urlSession(session, task: task, didCompleteWithError: error) }
        case .handler(let handler):
            if let error { handler(nil, nil, error) } else { handler(body ?? Data(), task.response, nil) }
        case .continuation(let resume):
            if let error {
                resume(.failure(error))
            } else if let response = task.response {
                resume(.success((body ?? Data(), response)))
            } else {
                resume(.failure(URLError(.badServerResponse)))
            }
        case .feed, .nobody: break
        }
    }
}

/// Lets the first answer through and drops the others (T-67).
final class Once: Sendable {
    private let isDone = Atomic(false)

    func perform(_ body: () -> Void) {
        if !isDone.exchange(true, ordering: .acquiringAndReleasing) { body() }
    }
}
