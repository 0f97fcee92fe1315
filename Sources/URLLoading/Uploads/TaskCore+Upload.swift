internal import Foundation
internal import LoadingPipeline
internal import LoadingTransport
internal import Synchronization

/// The body that a task sends.
extension TaskCore {
    var isUpload: Bool { if case .upload = kind { true } else { false } }

    /// What an upload task sends; nil for other tasks, whose request says it.
    func uploadBody(of request: URLRequest) -> LoadBody? {
        if case .upload(let content, _) = kind { content.body(of: request, on: core.loop) } else { nil }
    }

    /// What goes out after a redirect, as far as the request does not say it: the content of an upload, or the stream that
    /// was on its way, if the redirect keeps the body. What a protocol of the caller's redirects to is as the
    /// protocol says.
    func bodyAfterRedirect(to request: URLRequest, _ load: any Load) -> LoadBody? {
        guard let proposed = (load as? HTTPLoad)?.proposedBody else { return nil }
        if isUpload { return proposed }
        guard !proposed.isNone, let stream = request.httpBodyStream, stream === currentRequest?.httpBodyStream else {
            return nil
        }
        return proposed
    }

    /// 0 if no body follows.
    func bodyLengthAfterRedirect(to request: URLRequest) -> Int64 {
        guard isUpload, let load = load as? HTTPLoad else { return request.knownBodyLength }
        return load.proposedBody?.isNone ?? true ? 0 : bytesExpectedToSend.load(ordering: .relaxed)
    }

    /// What another upload can go on with, as its caller keeps it (RES-13).
    func resumeData(_ stopped: StoppedUpload) -> Data? {
        guard case .upload(let content, _) = kind else { return nil }
        return UploadResumeData(stopped, of: content)?.encoded
    }

    // MARK: From the load

    func load(_ load: any Load, needsBodyFrom offset: Int64) { enqueue(.needsBody(offset: offset)) }

    func load(_ load: any Load, willSendBodyOf length: Int64) {
        bytesExpectedToSend.store(length, ordering: .relaxed)
    }

    // MARK: Delegate

    /// Asks for a stream (T-51, T-52). Nobody's is nil, with which the task fails.
    func askForBody(from offset: Int64, _ session: URLSession, _ task: URLSessionTask) {
        if case .upload(let content, _) = kind, case .pipe = content {
            return answerBody(offset == 0 ? content.newStream() : nil)
        }
        let isAsked = delegates.offer { delegate in
            if offset > 0 {
                delegate.urlSession(session, needNewBodyStreamForTask: task, from: offset) { self.answerBody($0) }
            } else {
                delegate.urlSession(session, needNewBodyStreamForTask: task) { self.answerBody($0) }
            }
        }
        if !isAsked { answerBody(nil) }
    }

    private func answerBody(_ stream: InputStream?) {
        let source = stream.map { InputStreamSource($0, on: core.loop) }
        let handed = HandedStream(stream: stream)
        core.loop.post {
            (self.load as? HTTPLoad)?.provideBody(source)
            ((self.load as? SourceLoad)?.source as? ProtocolSource)?.provideBody(handed)
        }
    }
}
