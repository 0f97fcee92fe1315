internal import BackgroundTransfers
internal import Foundation
internal import LoadingEvents
internal import LoadingPipeline
internal import LoadingTransport

/// The callbacks of a task. Each is made on the task's delegate if that implements the method, otherwise on the
/// session's (T-24).
extension TaskCore {
    // MARK: Wanted events

    var wantsMetrics: Bool { !delegates.lack(.taskDidFinishCollectingMetrics) }
    var wantsResponse: Bool { !delegates.lack([.dataTaskDidReceiveResponse, .dataTaskDidReceiveResponseAsync]) }
    var wantsRedirects: Bool { !delegates.lack([.taskWillPerformRedirection, .taskWillPerformRedirectionAsync]) }
    var wantsInformationalResponses: Bool { !delegates.lack(.taskDidReceiveInformationalResponse) }
    var wantsWrittenData: Bool { !writingDelegates.lack(.downloadTaskDidWriteData) }
    var wantsSentBody: Bool { !delegates.lack(.taskDidSendBodyData) }

    /// The delegates for download progress: for an awaited download only the task's own (T-59).
    private var writingDelegates: TaskDelegates {
        isForDelegate ? delegates : TaskDelegates(own: locked { $0.delegateReference }, session: nil)
    }

    // MARK: Callbacks

    /// The first callback of a task, within the creating call and on its thread (T-26).
    func announce(_ task: URLSessionTask, of session: URLSession) {
        _ = delegates.offer { $0.urlSession(session, didCreateTask: task) }
    }

    /// The session and the task, which are arguments of callbacks.
    var recipients: (session: URLSession, task: URLSessionTask)? {
        lock.lock()
        let session = values.session
        // Not `anyTask`, for which all values would be copied.
        let task = values.task ?? values.knownTask
        lock.unlock()
        guard let session, let task else { return nil }
        return (session, task)
    }

    func call(_ event: consuming TaskEvent, _ session: URLSession, _ task: URLSessionTask) {
        switch consume event {
        case .waitingForConnectivity:
            _ = delegates.offer { $0.urlSession(session, taskIsWaitingForConnectivity: task) }
        case .challenge(let challenge):
            call(challenge, session, task)
        case .credential(let given, let space):
            core.configuration.urlCredentialStorage?.store(given, for: space, task)
        case .informationalResponse(let response):
            _ = delegates.offer { $0.urlSession(session, task: task, didReceiveInformationalResponse: response) }
        case .needsBody(let offset): askForBody(from: offset, session, task)
        case .sentBody(let count, let total, let expected):
            _ = delegates.offer {
                $0.urlSession(
                    session, task: task, didSendBodyData: count, totalBytesSent: total,
                    totalBytesExpectedToSend: expected)
            }
        case .resumed(let offset, let expected):
            guard let task = task as? URLSessionDownloadTask else { return }
            _ = delegates.offer {
                $0.urlSession(
                    session, downloadTask: task, didResumeAtOffset: offset, expectedTotalBytes: expected)
            }
        case .wroteData(let count, let total, let expected):
            guard let task = task as? URLSessionDownloadTask else { return }
            _ = writingDelegates.offer {
                $0.urlSession(
                    session, downloadTask: task, didWriteData: count, totalBytesWritten: total,
                    totalBytesExpectedToWrite: expected)
            }
        case .data(let data), .piece(let data):
            guard let task = task as? URLSessionDataTask else { return }
            _ = delegates.offer { $0.urlSession(session, dataTask: task, didReceive: data) }
        case .becomeDownload:
            guard let task = task as? URLSessionDataTask else { return }
            becomeDownload(task, of: session)
        case .becomeStream:
            guard let task = task as? URLSessionDataTask else { return }
            becomeStream(task, of: session)
        // `deliver` delivers them.
        case .answer: break
        case .readClosed:
            guard let task = task as? URLSessionStreamTask else { return }
            _ = delegates.offer { $0.urlSession(session, readClosedFor: task) }
        case .writeClosed:
            guard let task = task as? URLSessionStreamTask else { return }
            _ = delegates.offer { $0.urlSession(session, writeClosedFor: task) }
        case .betterRoute:
            guard let task = task as? URLSessionStreamTask else { return }
            _ = delegates.offer { $0.urlSession(session, betterRouteDiscoveredFor: task) }
        case .webSocketOpened(let subprotocol):
            guard let task = task as? URLSessionWebSocketTask else { return }
            _ = delegates.offer { $0.urlSession(session, webSocketTask: task, didOpenWithProtocol: subprotocol) }
        case .webSocketClosed(let code, let reason):
            guard let task = task as? URLSessionWebSocketTask else { return }
            _ = delegates.offer { $0.urlSession(session, webSocketTask: task, didCloseWith: code, reason: reason) }
        case .captured(let connection):
            guard let task = task as? URLSessionStreamTask else { return }
            let (input, output) = (CapturedInputStream(connection), CapturedOutputStream(connection))
            _ = delegates.offer {
                $0.urlSession(session, streamTask: task, didBecome: input, outputStream: output)
            }
        case .response(let response):
            let isAsked =
                if let task = task as? URLSessionDataTask {
                    delegates.offer {
                        // The handler retains the task, which may meanwhile be suspended in an invalidated session.
                        $0.urlSession(session, dataTask: task, didReceive: response) { self.answer($0, for: task) }
                    }
                } else {
                    false
                }
            if !isAsked { answer(.allow, for: task) }
        case .willCache(let response, let reply):
            let isAsked =
                if let task = task as? URLSessionDataTask {
                    delegates.offer {
                        $0.urlSession(session, dataTask: task, willCacheResponse: response, reply: reply)
                    }
                } else {
                    false
                }
            if !isAsked { reply(response) }
        case .delayedRequest(let request):
            let isAsked = delegates.offer {
                $0.urlSession(session, task: task, willBeginDelayedRequest: request) { self.answerDelay($0, $1) }
            }
            if !isAsked { answerDelay(.continueLoading, nil) }
        case .redirect(let response, let proposed):
            let isAsked = delegates.offer {
                $0.urlSession(session, task: task, willPerformHTTPRedirection: response, newRequest: proposed) {
                    self.answerRedirect($0)
                }
            }
            if !isAsked { answerRedirect(proposed) }
        case .uploadMove(let response, let proposed):
            let isAsked = delegates.offer {
                $0.urlSession(session, task: task, willPerformHTTPRedirection: response, newRequest: proposed) {
                    self.answerUploadMove($0, to: proposed)
                }
            }
            if !isAsked { answerUploadMove(nil, to: proposed) }
        }
    }

    /// The delegate's answer to the response.
    func answer(_ disposition: URLSession.ResponseDisposition, for task: URLSessionTask) {
        switch disposition {
        case .allow: loop.post { self.load?.answerResponse() }
        // The earlier parts would be missing in the file (MISC-23).
        case .becomeDownload where locked { $0.partCount } > 1: cancel(nil)
        case .becomeDownload: becomeAnother(.becomeDownload, task)
        // The connection does not belong to the load any more.
        case .becomeStream where locked { $0.partCount } > 0: cancel(nil)
        case .becomeStream: becomeAnother(.becomeStream, task)
        case .cancel: cancel(nil)
        }
    }

    /// Retains the task until another one has replaced it, even if it is suspended in an invalidated session (T-44).
    private func becomeAnother(_ event: TaskEvent, _ task: URLSessionTask) {
        locked { if $0.task == nil, $0.state == .suspended { $0.task = task } }
        enqueue(event)
    }

    /// The delegate's answer to the new location of an upload.
    private func answerUploadMove(_ request: URLRequest?, to proposed: URLRequest) {
        let url = request?.url?.absoluteString
        let removed = (proposed.allHTTPHeaderFields ?? [:]).keys.filter {
            request?.value(forHTTPHeaderField: $0) == nil
        }
        loop.post { self.load?.answerUploadMove(url, without: removed) }
    }

    private func becomeDownload(_ task: URLSessionDataTask, of session: URLSession) {
        guard yield() else { return }
        let download = session.core.downloadTask(session, takingOver: self)
        _ = delegates.offer { $0.urlSession(session, dataTask: task, didBecome: download) }
        download.core?.replace(self)
    }

    private func becomeStream(_ task: URLSessionDataTask, of session: URLSession) {
        guard yield() else { return }
        let stream = session.core.streamTask(session, takingOver: self)
        _ = delegates.offer { $0.urlSession(session, dataTask: task, didBecome: stream) }
        stream.core?.takeConnection(of: self)
    }

    /// Delivers the end: a collected body, metrics, then the result (T-20, T-30, T-39). The file of a download is
    /// removed afterwards, unless the caller owns it (S-70, T-49).
    func deliverEnd(
        _ error: (any Error)?, body: LoadedBody, metrics: URLSessionTaskMetrics?, _ session: URLSession,
        _ task: URLSessionTask
    ) {
        var file: URL?
        if case .file(let path) = body { file = URL(fileURLWithPath: path, isDirectory: false) }
        var isFileKept = false
        defer { if let file, !isFileKept { UnfinishedFiles.shared.remove(file.path) } }
        if case .delegate = result, error == nil { deliverBody(body, file, session, task) }
        if let metrics {
            _ = delegates.offer { $0.urlSession(session, task: task, didFinishCollecting: metrics) }
        }
        switch result {
        case .delegate:
            acknowledging(.end) {
                _ = delegates.offer { $0.urlSession(session, task: task, didCompleteWithError: error) }
            }
        case .handler(let handler):
            handler(error == nil ? body.data : nil, task.response, error)
        case .fileHandler(let handler):
            handler(error == nil ? file : nil, task.response, error)
        case .continuation(let resume):
            resume(outcome(body.data, of: task, error))
        case .fileContinuation(let resume):
            resume(
                outcome(file, of: task, error).map { file, response in
                    isFileKept = true
                    return (DownloadFolder.handOver(file), response)
                })
        case .feed, .delivered: break
        }
    }

    /// Delivers a collected body before the end, because `willCacheResponse` must follow it (T-42).
    func deliverBodyEarly(_ body: Data) {
        if body.isEmpty { return }
        locked { $0.isBodyDelivered = true }
        enqueue(.data(body), bytes: body.count)
    }

    private func deliverBody(_ body: LoadedBody, _ file: URL?, _ session: URLSession, _ task: URLSessionTask) {
        switch task {
        case let task as URLSessionDataTask:
            guard case .whole(let data) = body, !data.isEmpty, !locked({ $0.isBodyDelivered }) else { return }
            _ = delegates.offer { $0.urlSession(session, dataTask: task, didReceive: data) }
        case let task as URLSessionDownloadTask:
            guard let file else { return }
            acknowledging(.file) {
                _ = delegates.offer { $0.urlSession(session, downloadTask: task, didFinishDownloadingTo: file) }
            }
            // The program has moved the file if it needs it.
            UnfinishedFiles.shared.remove(file.path)
        default: break
        }
    }

    private func outcome<Body>(
        _ body: Body?, of task: URLSessionTask, _ error: (any Error)?
    ) -> Result<(Body, URLResponse), any Error> {
        if let error { return .failure(error) }
        guard let body, let response = task.response else { return .failure(URLError(.badServerResponse)) }
        return .success((body, response))
    }
}

extension LoadedBody {
    /// The collected body; empty if there was none.
    fileprivate var data: Data { if case .whole(let data) = self { data } else { Data() } }
}
