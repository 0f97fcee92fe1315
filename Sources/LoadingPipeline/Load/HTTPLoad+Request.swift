internal import FoundationEssentials
package import LoadingConnections
internal import LoadingEvents
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

/// The stages that prepare a request, in order.
extension HTTPLoad {
    // MARK: Transport security

    func secureTransport() {
        if environment.transportSecurity.upgrade(&request) {
            // The connection was held for a step of an authentication over plain HTTP. The upgrade ends that
            // authentication.
            releaseHeldConnection()
            if uploading?.isFollowUp != true {
                uploading?.isUpgraded(to: request)
                client?.load(self, isUpgradedTo: request.urlText)
            }
        }
        if uploading?.hasMadeFollowUp == true {
            log?.record(.request(method: request.method, url: request.urlText))
        } else {
            log?.traceOnly(.request(method: request.method, url: request.urlText))
        }
        do { try environment.transportSecurity.check(request.url, request.urlText) } catch { return end(error) }
        machine.apply(.passed(.transportSecurity))
    }

    // MARK: Cookies

    func askForCookies() {
        // Cookies belong to HTTP. A proxy that loads an FTP URL over HTTP gets none.
        guard request.url.scheme != .ftp else { return machine.apply(.passed(.cookies)) }
        guard case .now(let field) = environment.cookies?.cookies(for: self) ?? .now(nil) else { return }
        cookies = field
        machine.apply(.passed(.cookies))
    }

    /// The lookup of the `Cookie` field's value that the load waits for; nil without cookies.
    package func makeCookieLookup() -> PendingLookup<String?> {
        awaiting(
            PendingLookup(on: environment.loop) { [self] field in
                guard passes(.cookies) else { return }
                cookies = field
                advanceAfterWait()
            })
    }

    /// Keeps a lookup until the load ends and withdraws it. With a weak reference to the load instead, each retain and
    /// release of the load would be slow.
    func awaiting<Value: Sendable>(_ lookup: PendingLookup<Value>) -> PendingLookup<Value> {
        storeLookup?.withdraw()
        storeLookup = lookup
        return lookup
    }

    // MARK: Body

    func prepareBody() {
        if request.body.isNone { return machine.apply(.passed(.requestBody)) }
        guard request.body.isReplayable else {
            // The exchange requests the stream when it has a connection.
            do throws(LoadError) { try announceStream() } catch { return end(error) }
            return machine.apply(.passed(.requestBody))
        }
        withBody { [weak self] body in
            guard let self, passes(.requestBody) else { return }
            prepared?.body = body
            // The facts of a file are read on another thread; for bytes there is no wait.
            if case .file = request.body { advanceAfterWait() } else { advance() }
        }
    }

    /// Prepares the body, also one that was sent before. `send` is called now or later, unless the load ends or the
    /// body is requested again before that.
    func withBody(_ send: @escaping (RequestBody) -> Void) {
        let bodyStage = bodyStage ?? BodyStage()
        self.bodyStage = bodyStage
        bodyStage.prepare(
            request.body, uploading?.part ?? BodyStage.Part(),
            asking: { offset in client?.load(self, needsBodyFrom: offset) },
            { [weak self] result in
                guard let self, !machine.hasEnded else { return }
                noteActivity()
                switch result {
                case .failure(let error): end(error)
                case .success(let body):
                    let file = self.bodyStage?.file
                    do throws(LoadError) {
                        try uploading?.willSend(body.length, of: file, with: request)
                    } catch {
                        return end(error)
                    }
                    if let file { client?.load(self, willSendBodyOf: file.length) }
                    send(body)
                }
            })
    }

    /// The stream is about to be requested. The upload's fields in the request depend only on the length.
    private func announceStream() throws(LoadError) {
        guard let uploading else { return }
        try uploading.willSend(
            uploading.part.announcedLength(of: request.body.announcedStreamLength), of: nil, with: request)
    }

    /// The client's stream, or nil if it has none: the load then fails (T-51).
    ///
    /// - Parameter offset: The offset of the request that this answers.
    package func provideBody(_ source: (any RequestBodySource)?, from offset: Int64) {
        environment.loop.checkConfinement(of: "A load")
        if let bodyStage { bodyStage.provide(source, from: offset) } else { source?.cancel() }
    }

    /// The body of the redirected request that the client is asked about.
    package var proposedBody: LoadBody? { machine.stage == .redirect ? proposal?.body : nil }

    // MARK: Proxies

    func resolveProxies() {
        // A proxy that loads the request resolves the host, and cannot prove to this client that DNSSEC was used.
        if request.service.requiresDNSSEC, NameResolver.needsNameServer(request.url.host) {
            return end(.cannotFindHost)
        }
        if let route = heldConnection?.route ?? authenticationRoute {
            authenticationRoute = nil
            return go(by: ProxyRouteList([route]))
        }
        guard let proxies = environment.proxies else { return go(by: .direct) }
        if let route = proxies.settledRoute(to: request.url) { return go(by: route) }
        search = proxies.find(ProxyDestination(request.url), asking: ProxyQuery(request.url)) { [weak self] route in
            guard let self else { return }
            search = nil
            noteActivity()
            go(by: route)
            advanceAfterWait()
        }
    }

    private func go(by route: ProxyRouteList) {
        guard machine.receive(.passed(.proxyResolution)) else { return }
        self.route = route
    }

    // MARK: Exchange

    func beginExchange() {
        // A match, because `!=` copies the connection.
        if case .some = heldConnection, !keepsHeldConnection() { return }
        // The previous stages have set both.
        guard var sent = prepared.take(), let route = route.take() else { return end(.cannotConnectToHost) }
        uploading?.mark(&sent, to: request.url)
        let exchange = ExchangeStage(
            consume sent, to: request.url, by: route,
            identity: serverAuthenticator?.identity(for: .request(request)) ?? 0,
            priority: request.priority, for: self)
        self.exchange = exchange
        if let heldConnection = heldConnection.take() {
            exchange.start(on: heldConnection.stream, isBound: !heldConnection.isBeginning)
        } else {
            exchange.start()
        }
    }

    /// Drains the rest of the response.
    func dropExchange() {
        exchange?.drain()
        exchange = nil
    }

    /// The exchange has ended without a result. Another one follows, if the load is suspended after `resume`.
    func exchangeWaits() {
        exchange = nil
        giveUpExchange()
    }

    /// The exchange has ended without a result, because its host requires secure connections now.
    func exchangeBecomesSecure() {
        exchangeWaits()
        advance()
    }

    var isSuspended: Bool { machine.isSuspended }
}

extension RequestBody {
    /// In bytes; nil if unknown.
    fileprivate var length: Int64? {
        switch self {
        case .none: 0
        case .bytes(let data): Int64(data.count)
        case .source(_, let length): length
        }
    }
}
