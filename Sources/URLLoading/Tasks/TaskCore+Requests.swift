internal import Foundation
internal import LoadingPipeline
internal import LoadingSemantics
internal import LoadingTransport
internal import Synchronization

/// The requests of a task: the current one, and redirected ones. On the loop.
extension TaskCore {
    func note(_ response: URLResponse) {
        if !fetches.isEmpty { fetches[fetches.count - 1].response = response }
    }

    /// The old request is released outside the lock, because it may contain a stream of the program.
    func setCurrentRequest(_ request: URLRequest) {
        var other: URLRequest? = request
        var sent = core.additionalFields.isEmpty ? nil : withAdditionalFields(request)
        locked {
            swap(&$0.currentRequest, &other)
            swap(&$0.sentRequest, &sent)
        }
    }

    /// Shows the fields of the configuration in the current request, which is sent now.
    func showAdditionalFields(in request: URLRequest) {
        if !core.additionalFields.isEmpty { setCurrentRequest(request) }
    }

    /// The request with the header fields of the configuration (C-23).
    func withAdditionalFields(_ request: URLRequest) -> URLRequest {
        var copy = request
        for (name, value) in core.additionalFields
        where copy.value(forHTTPHeaderField: name) == nil && !droppedFields.contains(fieldNamed: name) {
            copy.setValue(value, forHTTPHeaderField: name)
        }
        return copy
    }

    /// Replaces the request before anything was loaded.
    func replaceRequest(_ request: URLRequest) {
        setCurrentRequest(request)
        bytesExpectedToSend.store(kind.knownBodyLength(of: request), ordering: .sequentiallyConsistent)
        updateProgress()
        if !fetches.isEmpty { fetches[fetches.count - 1].request = request }
    }

    func follow(_ request: URLRequest) {
        setCurrentRequest(request)
        let length = bodyLengthAfterRedirect(to: request)
        if length != 0 {
            // A new body restarts the count. Without a body, the bytes sent before are reported.
            bytesExpectedToSend.store(length, ordering: .sequentiallyConsistent)
            bytesSent.store(0, ordering: .sequentiallyConsistent)
            updateProgress()
        }
        if log != nil { fetches.append(URLSessionTaskMetrics.Fetch(request: request)) }
    }

    /// The engine's request for one of the task.
    func loadRequest(
        _ request: URLRequest, body: LoadBody?, mayBeFTP: Bool = false
    ) throws(LoadError) -> LoadRequest {
        try LoadRequest(
            request, of: core, without: droppedFields, body: body, priority: priority, mayBeFTP: mayBeFTP,
            isWebSocket: kind.isWebSocket)
    }

    func url(of load: any Load) -> URL? { locked { $0.currentRequest?.url } }

    /// The delegate's answer to a redirect.
    func answerRedirect(_ request: URLRequest?) {
        guard let request else { return loop.post { self.load?.answerRedirect(nil) } }
        loop.post { [self] in
            guard let load, !load.hasEnded else { return }
            // The new request may have another origin than the proposed one.
            if let previous = currentRequest { droppedFields += additionalFieldsDropped(from: previous, to: request) }
            if mayUseProtocols || load is SourceLoad { return redirect(load, to: request) }
            do throws(LoadError) {
                let next = try loadRequest(request, body: bodyAfterRedirect(to: request, load))
                follow(request)
                load.answerRedirect(next)
            } catch {
                load.cancel(error.at(request.url?.absoluteString))
            }
        }
    }

    /// The header fields of the configuration that a redirect from one request to another removes (R-5, R-9, R-10,
    ///
    func additionalFieldsDropped(from previous: URLRequest, to next: URLRequest) -> [String] {
        guard let url = previous.url, let target = next.url else { return [] }
        var fields = HTTPFields()
        for (name, value) in core.additionalFields { fields.append(name, value) }
        let origin = RedirectSource(method: previous.method, url: url.absoluteString, fields: fields, hasBody: false)
        // The status with which the rules produce the method of the next request.
        let status = next.method == "GET" ? 303 : 307
        guard
            case .follow(let redirected) = RedirectRules.decide(
                status: status, location: target.absoluteString, from: origin, count: 0)
        else { return [] }
        return redirected.droppedFields
    }
}
