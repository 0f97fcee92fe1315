internal import Foundation

/// The calls of a task: each goes to the task's own delegate if that has the method, else to the session's (T-24).
extension TaskCore {
    // MARK: Which events anybody wants

    var wantsMetrics: Bool { !delegates.lack(.taskDidFinishCollectingMetrics) }
    var wantsResponse: Bool { !delegates.lack([.dataTaskDidReceiveResponse, .dataTaskDidReceiveResponseAsync]) }
    var wantsRedirects: Bool { !delegates.lack([.taskWillPerformRedirection, .taskWillPerformRedirectionAsync]) }
    var wantsInformationalResponses: Bool { !delegates.lack(.taskDidReceiveInformationalResponse) }
    var wantsSentBody: Bool { !delegates.lack(.taskDidSendBodyData) }

    // MARK: Calls

    /// The first message of a task, within the call that makes it and on its thread (T-26).
    func announce(_ task: URLSessionTask, of session: URLSession) {
        _ = delegates.offer { $0.urlSession(session, didCreateTask: task) }
    }

    func call(_ event: TaskEvent, _ session: URLSession, _ task: URLSessionTask) {
        switch event {
        case .waitingForConnectivity:
            _ = delegates.offer { $0.urlSession(session, taskIsWaitingForConnectivity: task) }
        case .informationalResponse(let response):
            _ = delegates.offer { $0.urlSession(session, task: task, didReceiveInformationalResponse: response) }
        case .sentBody(let count, let total, let expected):
            _ = delegates.offer {
                $0.urlSession(
                    session, task: task, didSendBodyData: count, totalBytesSent: total,
                    totalBytesExpectedToSend: expected)
            }
        case .data(let data):
            guard let task = task as? URLSessionDataTask else { return }
            _ = delegates.offer { $0.urlSession(session, dataTask: task, didReceive: data) }
        case .response(let response):
            let isAsked =
                if let task = task as? URLSessionDataTask {
                    delegates.offer {
                        $0.urlSession(session, dataTask: task, didReceive: response) { self.answer($0) }
                    }
                } else {
                    false
                }
            if !isAsked { answer(.allow) }
        case .redirect(let response, let proposed):
            let isAsked = delegates.offer {
                $0.urlSession(session, task: task, willPerformHTTPRedirection: response, newRequest: proposed) {
                    self.answerRedirect($0)
                }
            }
            if !isAsked { answerRedirect(proposed) }
        }
    }

    /// Tells the end: a body that was kept for it, metrics, then the result (T-20, T-39).
    func tellEnd(
        _ error: (any Error)?, body: Data?, metrics: URLSessionTaskMetrics?, _ session: URLSession,
        _ task: URLSessionTask
    ) {
        if case .delegate = result, error == nil, let body, !body.isEmpty, let task = task as? URLSessionDataTask {
            _ = delegates.offer { $0.urlSession(session, dataTask: task, didReceive: body) }
        }
        if let metrics {
            _ = delegates.offer { $0.urlSession(session, task: task, didFinishCollecting: metrics) }
        }
        switch result {
        case .delegate:
            _ = delegates.offer { $0.urlSession(session, task: task, didCompleteWithError: error) }
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
