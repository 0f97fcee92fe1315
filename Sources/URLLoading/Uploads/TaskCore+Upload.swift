internal import Foundation
internal import LoadingPipeline
internal import LoadingTransport
internal import Synchronization

/// Request bodies.
extension TaskCore {
    var isUpload: Bool { if case .upload = kind { true } else { false } }

    /// The body of an upload task; nil for other tasks, whose body is in the request.
    func uploadBody(of request: URLRequest) -> LoadBody? {
        if case .upload(let content, _) = kind { content.body(of: request, on: loop) } else { nil }
    }

    /// The body after a redirect that keeps it, if the new request does not contain it: the content of an
    /// upload task, or the stream that was being sent. Nil for redirects of custom protocols, whose request is
    /// complete.
    func bodyAfterRedirect(to request: URLRequest, _ load: any Load) -> LoadBody? {
        guard let proposed = (load as? HTTPLoad)?.proposedBody else { return nil }
        if isUpload { return proposed }
        guard !proposed.isNone, let stream = request.httpBodyStream, stream === currentRequest?.httpBodyStream else {
            return nil
        }
        return proposed
    }

    /// In bytes; 0 if the redirect drops the body.
    func bodyLengthAfterRedirect(to request: URLRequest) -> Int64 {
        guard isUpload, let load = load as? HTTPLoad else { return request.knownBodyLength }
        return load.proposedBody?.isNone ?? true ? 0 : bytesExpectedToSend.load(ordering: .relaxed)
    }

    /// Resume data for another upload task (RES-13).
    func resumeData(_ stopped: StoppedUpload) -> Data? {
        guard case .upload(let content, _) = kind else { return nil }
        return UploadResumeData(stopped, of: content, currentRequest ?? originalRequest)?.encoded
    }

    // MARK: From the load

    func load(_ load: any Load, needsBodyFrom offset: Int64) { enqueue(.needsBody(offset: offset)) }

    func load(_ load: any Load, willSendBodyOf length: Int64) {
        bytesExpectedToSend.store(length, ordering: .sequentiallyConsistent)
        updateProgress()
    }

    // MARK: Delegate

    /// Requests a body stream from the delegates (T-51, T-52). If none implements the method the stream is nil, and the
    /// task fails.
    func askForBody(from offset: Int64, _ session: URLSession, _ task: URLSessionTask) {
        if case .upload(let content, _) = kind, case .pipe = content {
            return answerBody(offset == 0 ? content.newStream() : nil, from: offset)
        }
        let isAsked = delegates.offer { delegate in
            if offset > 0 {
                delegate.urlSession(session, needNewBodyStreamForTask: task, from: offset) {
                    self.answerBody($0, from: offset)
                }
            } else {
                delegate.urlSession(session, needNewBodyStreamForTask: task) { self.answerBody($0, from: 0) }
            }
        }
        if !isAsked { answerBody(nil, from: offset) }
    }

    private func answerBody(_ stream: InputStream?, from offset: Int64) {
        let source = stream.map { InputStreamSource($0, on: loop) }
        let handed = SendableInputStream(stream: stream)
        loop.post {
            (self.load as? HTTPLoad)?.provideBody(source, from: offset)
            ((self.load as? SourceLoad)?.source as? ProtocolSource)?.provideBody(handed)
        }
    }
}
