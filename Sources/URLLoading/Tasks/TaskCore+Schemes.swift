internal import Foundation
internal import LoadingEvents
internal import LoadingPipeline
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

/// Selects the loader of a request: a custom protocol that claims it, otherwise that of its scheme.
extension TaskCore {
    /// Creates the load of a request.
    ///
    /// - Parameters:
    ///   - body: Replaces the body of the request.
    ///   - protocolClass: The custom protocol that claims the request.
    ///   - isRedirect: Whether this is a redirect: then only HTTP and claimed requests are loaded.
    func makeLoad(
        of request: URLRequest, carrying body: LoadBody?, claimedBy protocolClass: URLProtocol.Type?,
        isRedirect: Bool = false
    ) throws(LoadError) -> any Load {
        isLoadedByProtocol = protocolClass != nil
        if let protocolClass { return load(source(of: protocolClass, request, body), request) }
        do throws(LoadError) {
            let request = try loadRequest(request, body: body, mayBeFTP: !isRedirect && mayLoadFTP(request))
            let load = HTTPLoad(request, in: core.environment, destination: destination, log: log, client: self)
            if case .upload(_, let stopped) = kind { load.makeResumable(stopped) }
            if isRedirect { load.redirectCount = redirectCount }
            return load
        } catch {
            guard !isRedirect, let source = try source(of: request) else { throw error }
            return load(source, request)
        }
    }

    private func load(_ source: any LoadSource, _ request: URLRequest) -> SourceLoad {
        let configuration = core.configuration
        return SourceLoad(
            source, on: loop, destination: destination,
            idleTimeout: request.idleTimeout(in: configuration), totalTimeout: configuration.totalTimeout, log: log,
            request: (request.method, request.url?.absoluteString ?? ""), client: self)
    }

    /// The load of a scheme other than HTTP; nil for an unknown scheme.
    private func source(of request: URLRequest) throws(LoadError) -> (any LoadSource)? {
        guard let url = request.url else { return nil }
        switch url.scheme?.lowercased() {
        case "data": return DataURLSource(url.absoluteString, on: loop)
        case "file":
            // File URLs support GET only (MISC-15).
            guard request.method == "GET" || request.method == "HEAD", case .none = request.body, !isUpload else {
                throw .unsupportedURL
            }
            // The host must be the local machine.
            guard url.host().map({ $0.isEmpty || $0 == "localhost" }) ?? true else { throw .unsupportedURL }
            return FileSource(
                path: url.path(percentEncoded: false), sendsBody: request.method == "GET", on: loop)
        case "ftp": return try ftpSource(of: request, url.absoluteString)
        default: return nil
        }
    }

    /// FTP supports GET only (MISC-17), in classic loading mode only (C-31).
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
            service: core.configuration.networkService(of: request),
            waitsForConnectivity: core.configuration.waitsForConnectivity, in: core.environment)
    }

    // MARK: Custom protocols

    /// Whether classes of the program may load the task. They cannot load WebSockets.
    var mayUseProtocols: Bool { core.hasProtocols && !kind.isWebSocket }

    /// Queries the protocol classes of the session and of the process, in order, for the task's current request.
    /// `answer` is called on the loop, at once if there are none.
    func askProtocols(_ answer: @escaping (URLProtocol.Type?) -> Void) {
        let classes = core.allProtocolClasses
        guard !classes.isEmpty, let task = heldTask else { return answer(nil) }
        let answer = LoopBox(answer)
        loop.callOut(
            ProtocolQuestion(classes, task) { [loop] claimed in loop.post { answer.value(claimed) } })
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

    /// The request for custom protocols: its body is the upload's content, as a stream (T-68).
    func requestForProtocols(_ request: URLRequest) -> URLRequest {
        // A redirect may have changed the method to GET, which has no body.
        guard case .upload(let content, _) = kind, request.method != "GET" else { return request.withBodyAsStream }
        var copy = request
        switch content {
        case .data(let data): copy.setBodyForProtocols(data)
        case .file(let url): copy.body = url.isFileURL ? .streamOfFile(url) : .none
        // A pipe can be read once.
        case .pipe(let url): copy.httpBodyStream = url.isFileURL ? InputStream(url: url) : nil
        // The delegate provides the stream after the loader was selected.
        case .stream: copy.httpBodyStream = nil
        }
        return copy
    }

    /// Stores the response of a custom protocol in the cache, unless the delegate prevents it (MISC-19, T-42).
    func propose(_ response: CachedURLResponse, _ done: @escaping @Sendable () -> Void) {
        guard let task = heldTask as? URLSessionDataTask, let cache = core.urlCache else { return done() }
        let store: @Sendable (CachedURLResponse?) -> Void = { [loop] answered in
            if let answered {
                if type(of: cache) == URLCache.self, let request = task.currentRequest {
                    cache.storeLoaded(answered, for: request)
                } else {
                    cache.storeCachedResponse(answered, for: task)
                }
            }
            loop.post(done)
        }
        if wantsCaching {
            enqueue(.willCache(response, reply: store))
        } else {
            // The cache may be a subclass, so the program's code (T-47).
            loop.callOut(CalledOut { store(response) })
        }
    }

    /// The cached response for a custom protocol, which may declare it valid.
    func storedResponse(to request: URLRequest) -> CachedURLResponse? {
        guard kind.isData, let cache = core.urlCache else { return nil }
        switch request.explicitCachePolicy ?? core.configuration.requestCachePolicy {
        case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData: return nil
        default: return cache.cachedResponse(for: request)
        }
    }

    // MARK: Redirects between loaders

    /// A redirect of a custom protocol.
    func isRedirected(_ load: SourceLoad, to request: URLRequest, by response: URLResponse) {
        note(response)
        // The protocol determines the request. Fields of the configuration are treated as in a server's redirect, even
        // if the protocol has copied them.
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
        // Without an HTTPURLResponse the delegate cannot be called.
        guard wantsRedirects, let shown = response as? HTTPURLResponse else { return redirect(load, to: request) }
        enqueue(.redirect(shown, proposed: request))
    }

    /// A redirect from HTTP to another scheme, which only custom protocols may load.
    func load(
        _ load: any Load, leavesHTTPBy redirected: RedirectedRequest, response: LoadResponse
    ) -> Bool {
        guard mayUseProtocols, let url = url(of: load), let target = URL(string: redirected.url),
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

    /// Follows a redirect with the loader of the new request.
    func redirect(_ load: any Load, to request: URLRequest) {
        // Uses the previous request.
        let body = bodyAfterRedirect(to: request, load)
        follow(request)
        askProtocols { [self] claimed in
            // The load may have failed meanwhile; its end is delivered when its file is closed.
            guard self.load === load, !load.hasEnded else { return }
            do throws(LoadError) {
                if claimed == nil, load is HTTPLoad {
                    return load.answerRedirect(try loadRequest(request, body: body))
                }
                // An `HTTPLoad` has counted this redirect already.
                redirectCount = (load as? HTTPLoad)?.redirectCount ?? redirectCount + 1
                if redirectCount > RedirectRules.limit { throw .tooManyRedirects }
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

/// Queries custom protocol classes with the loop lent, because they are the program's code.
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
