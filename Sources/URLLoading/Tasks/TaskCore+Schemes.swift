internal import Foundation
internal import LoadingEvents
internal import LoadingPipeline
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

/// Which loader loads a request: a protocol of the caller's that claims it, else that of its scheme.
extension TaskCore {
    /// The load of a request.
    ///
    /// - Parameters:
    ///   - body: In place of the request's own.
    ///   - protocolClass: Who claims the request.
    ///   - isRedirect: Whether a redirect led here: nothing but HTTP, and what is claimed, is loaded then.
    func makeLoad(
        of request: URLRequest, carrying body: LoadBody?, claimedBy protocolClass: URLProtocol.Type?,
        isRedirect: Bool = false
    ) throws(LoadError) -> any Load {
        if let protocolClass { return load(source(of: protocolClass, request, body), request) }
        do throws(LoadError) {
            let request = try LoadRequest(
                request, of: core, without: droppedFields, body: body, priority: priority,
                mayBeFTP: !isRedirect && mayLoadFTP(request))
            let load = HTTPLoad(request, in: core.environment, destination: destination, log: log, client: self)
            if case .upload(_, let stopped) = kind { load.makeResumable(stopped) }
            return load
        } catch {
            guard !isRedirect, let source = try source(of: request) else { throw error }
            return load(source, request)
        }
    }

    private func load(_ source: any LoadSource, _ request: URLRequest) -> SourceLoad {
        let configuration = core.configuration
        return SourceLoad(
            source, on: core.loop, destination: destination,
            idleTimeout: request.explicitTimeoutInterval ?? configuration.timeoutIntervalForRequest,
            totalTimeout: configuration.timeoutIntervalForResource, log: log,
            request: (request.method, request.url?.absoluteString ?? ""), client: self)
    }

    /// Of what does not come by HTTP; nil for a scheme that nobody knows.
    private func source(of request: URLRequest) throws(LoadError) -> (any LoadSource)? {
        guard let url = request.url else { return nil }
        switch url.scheme?.lowercased() {
        case "data": return DataURLSource(url.absoluteString, on: core.loop)
        case "file":
            // Files are read, not written (MISC-15).
            guard request.method == "GET" || request.method == "HEAD", case .none = request.body, !isUpload else {
                throw .unsupportedURL
            }
            // Another machine's files are not here.
            guard url.host().map({ $0.isEmpty || $0 == "localhost" }) ?? true else { throw .unsupportedURL }
            return FileSource(
                path: url.path(percentEncoded: false), sendsBody: request.method == "GET", on: core.loop)
        case "ftp": return try ftpSource(of: request, url.absoluteString)
        default: return nil
        }
    }

    /// Files are fetched, not sent (MISC-17), and by sessions in classic mode alone (C-31).
    private func mayLoadFTP(_ request: URLRequest) -> Bool {
        guard request.method == "GET", case .none = request.body, !isUpload else { return false }
        return core.configuration.usesClassicLoadingMode
    }

    private func ftpSource(of request: URLRequest, _ url: String) throws(LoadError) -> FTPSource {
        guard mayLoadFTP(request) else { throw .unsupportedURL }
        let target: FTPURL
        do { target = try FTPURL(url) } catch { throw error.loadError }
        let stopped: StoppedDownload? = if case .download(let stopped) = kind { stopped } else { nil }
        return FTPSource(
            target, urlText: url, isDownload: !kind.isData, resuming: stopped,
            service: core.configuration.networkService(of: request), in: core.environment)
    }

    // MARK: Protocols of the caller's

    /// Asks the classes of the session and of the process, in their order, which of them loads the task's current
    /// request. `answer` is called on the loop: at once when there is nobody to ask.
    func askProtocols(_ answer: @escaping (URLProtocol.Type?) -> Void) {
        let classes = core.allProtocolClasses
        guard !classes.isEmpty, let task = heldTask else { return answer(nil) }
        let answer = LoopBox(answer)
        core.loop.callOut(
            ProtocolQuestion(classes, task) { [core] claimed in core.loop.post { answer.value(claimed) } })
    }

    private func source(
        of protocolClass: URLProtocol.Type, _ request: URLRequest, _ body: LoadBody?
    ) -> ProtocolSource {
        guard case .upload(let content, _) = kind, let body, !body.isNone else {
            return ProtocolSource(protocolClass, loading: withAdditionalFields(request.withBodyAsStream), for: self)
        }
        let awaitsBody = if case .stream = content { true } else { false }
        return ProtocolSource(
            protocolClass, loading: withAdditionalFields(requestForProtocols(request)), awaitsBody: awaitsBody,
            for: self)
    }

    /// With the fields of the configuration that a server would get (C-23).
    private func withAdditionalFields(_ request: URLRequest) -> URLRequest {
        var copy = request
        for (name, value) in core.additionalFields
        where copy.value(forHTTPHeaderField: name) == nil && !droppedFields.contains(name) {
            copy.setValue(value, forHTTPHeaderField: name)
        }
        return copy
    }

    /// A request as protocols get to see it: what an upload sends is the body, as a stream (T-68).
    func requestForProtocols(_ request: URLRequest) -> URLRequest {
        // A redirect may have made it a GET, which has no body.
        guard case .upload(let content, _) = kind, request.method != "GET" else { return request.withBodyAsStream }
        var copy = request
        switch content {
        case .data(let data): copy.body = .streamOfData(data)
        case .file(let url): copy.body = url.isFileURL ? .streamOfFile(url) : .none
        // A pipe can be read once.
        case .pipe(let url): copy.httpBodyStream = url.isFileURL ? InputStream(url: url) : nil
        // The delegate is asked for it when it is known who loads the request.
        case .stream: copy.httpBodyStream = nil
        }
        return copy
    }

    /// Has the cache store what a protocol has loaded, unless the delegate does not want that (MISC-19, T-42).
    func propose(_ response: CachedURLResponse, _ done: @escaping @Sendable () -> Void) {
        guard let task = heldTask as? URLSessionDataTask, let cache = core.urlCache else { return done() }
        let store: @Sendable (CachedURLResponse?) -> Void = { [core] answered in
            if let answered {
                if type(of: cache) == URLCache.self, let request = task.currentRequest {
                    cache.storeLoaded(answered, for: request)
                } else {
                    cache.storeCachedResponse(answered, for: task)
                }
            }
            core.loop.post(done)
        }
        if wantsCaching {
            enqueue(.willCache(response, reply: store))
        } else {
            // The cache may be the program's code (T-47).
            core.loop.callOut(CalledOut { store(response) })
        }
    }

    /// A stored response that a protocol may say is still good.
    func storedResponse(to request: URLRequest) -> CachedURLResponse? {
        guard kind.isData, let cache = core.urlCache else { return nil }
        switch request.explicitCachePolicy ?? core.configuration.requestCachePolicy {
        case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData: return nil
        default: return cache.cachedResponse(for: request)
        }
    }

    // MARK: Redirects from one loader to another

    /// A protocol of the caller's leads elsewhere.
    func isRedirected(_ load: SourceLoad, to request: URLRequest, by response: URLResponse) {
        note(response)
        // The protocol says what the request has; what the configuration adds is as with a server's redirect, also
        // where the protocol has copied it from the request that it was given.
        var request = request
        if let previous = currentRequest {
            let dropped = additionalFieldsDropped(from: previous, to: request)
            for (name, value) in core.additionalFields
            where dropped.contains(name) && previous.value(forHTTPHeaderField: name) == nil
                && request.value(forHTTPHeaderField: name) == value
            {
                request.setValue(nil, forHTTPHeaderField: name)
            }
            droppedFields += dropped
        }
        // Who knows no HTTP has nothing to ask the delegate with.
        guard wantsRedirects, let shown = response as? HTTPURLResponse else { return redirect(load, to: request) }
        enqueue(.redirect(shown, proposed: request))
    }

    /// A server leads out of HTTP: only a protocol of the caller's may follow there.
    func load(
        _ load: any Load, leavesHTTPBy redirected: RedirectedRequest, response: LoadResponse
    ) -> Bool {
        guard core.hasProtocols, let url = url(of: load), let target = URL(string: redirected.url),
            let previous = currentRequest
        else { return false }
        let shown = HTTPURLResponse(url, response.head, expectedLength: response.expectedLength)
        note(shown)
        var next = previous
        next.url = target
        next.httpMethod = redirected.method
        for name in redirected.droppedFields { next.setValue(nil, forHTTPHeaderField: name) }
        if !redirected.keepsBody { next.httpBody = nil }
        droppedFields += redirected.droppedFields
        if wantsRedirects {
            enqueue(.redirect(shown, proposed: next))
        } else {
            redirect(load, to: next)
        }
        return true
    }

    /// Follows a redirect by whichever loader the request has now.
    func redirect(_ load: any Load, to request: URLRequest) {
        // Depends on the request before.
        let body = bodyAfterRedirect(to: request, load)
        follow(request)
        askProtocols { [self] claimed in
            // It may have been cancelled meanwhile.
            guard self.load === load else { return }
            do throws(LoadError) {
                if claimed == nil, load is HTTPLoad {
                    let next = try LoadRequest(
                        request, of: core, without: droppedFields, body: body, priority: priority)
                    return load.answerRedirect(next)
                }
                changesOfLoader += 1
                if changesOfLoader > RedirectRules.limit { throw .tooManyRedirects }
                let next = try makeLoad(
                    of: request, carrying: body, claimedBy: claimed, isRedirect: true)
                load.abandon()
                self.load = next
                if state == .suspended { next.suspend() }
                next.start(.redirect)
            } catch {
                load.cancel(error.at(request.url?.absoluteString))
            }
        }
    }
}

/// Which of several protocols of the caller's loads a task. Asked with the loop lent, since it is the caller's code.
private final class ProtocolQuestion: Callout {
    private let classes: [URLProtocol.Type]
    private let task: URLSessionTask
    private let answer: @Sendable (URLProtocol.Type?) -> Void

    init(
        _ classes: [URLProtocol.Type], _ task: URLSessionTask, _ answer: @escaping @Sendable (URLProtocol.Type?) -> Void
    ) {
        self.classes = classes
        self.task = task
        self.answer = answer
    }

    func callOut() { answer(classes.first { $0.canInit(with: task) }) }
}
