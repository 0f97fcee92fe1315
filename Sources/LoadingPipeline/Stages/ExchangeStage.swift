internal import LoadingConnections
internal import LoadingEvents
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

/// The last stage: a connection from the pool, one request on it, and one response from it. Retries if the connection
/// was lost before the server can have processed the request (CONN-10). Confined to the load's loop.
///
/// No access to a stored property lasts while the load, the pool or the connection is called, so exclusive access to
/// what each request uses is not checked.
final class ExchangeStage: ConnectionRequestDelegate, ExchangeObserver, RouteSelectorOwner, LoopTimerTarget {
    /// Cleared when the stage is done, which also breaks the reference cycle with the load.
    @exclusivity(unchecked) var load: HTTPLoad?
    let environment: LoadingEnvironment
    @exclusivity(unchecked) var request: ExchangeRequest
    let url: HTTPURL
    let identity: UInt64
    /// The current route to the server; nil if there is none.
    @exclusivity(unchecked) private(set) var route: ProxyRoute?
    /// Set if there are several routes.
    @exclusivity(unchecked) private var routeSelector: RouteSelector?
    private let routeList: ProxyRouteList
    @exclusivity(unchecked) var key: ConnectionKey
    @exclusivity(unchecked) private var priority: Float
    /// Whether the request may be sent again if its connection is lost (CONN-10).
    private let isRepeatable: Bool
    private let assumesHTTP3: Bool
    @exclusivity(unchecked) var pendingConnection: ConnectionRequest?
    /// The challenge about the connection that is being made, for the client.
    @exclusivity(unchecked) private var question: ConnectionChallenge?
    @exclusivity(unchecked) var connection: (any HTTPExchangeStream)?
    /// Whether an idle connection is not acceptable, because the request was lost on one.
    @exclusivity(unchecked) var needsNewConnection = false
    @exclusivity(unchecked) var isReused = false
    /// Whether the request contains a field that is valid only on this connection.
    @exclusivity(unchecked) var isBound = false
    /// Whether the connection was held for the request.
    @exclusivity(unchecked) private var isHeld = false
    /// The fields that the request omits on a connection that may already be authenticated for the user.
    @exclusivity(unchecked) private var withheldFields: [String] = []
    /// The acknowledged bytes at the last check.
    @exclusivity(unchecked) private var progress = AcknowledgedProgress()
    /// Whether the final response has begun. It begins only once.
    @exclusivity(unchecked) var hasHead = false
    /// Whether the rest of the request's body waits for the client's answer.
    @exclusivity(unchecked) private var isRequestBodyHeld = false
    @exclusivity(unchecked) var log: EventLog?
    @exclusivity(unchecked) private var sentBodyBytes: Int64 = 0
    @exclusivity(unchecked) private var sentWireBytes: Int64 = 0

    // MARK: A body that the client provides when there is a connection (ExchangeStage+StreamedBody)

    /// Whether the client is asked for the body when there is a connection (S-50).
    @exclusivity(unchecked) var needsStream: Bool
    /// The connection for the request, while the client is asked for the body.
    @exclusivity(unchecked) var reserved: (any HTTPExchangeStream)?
    /// Whether the client did not provide the body at once.
    @exclusivity(unchecked) var hasWaited = false
    /// Returns the reserved connection to the pool when it fires.
    @exclusivity(unchecked) var reservationTimer: LoopTimer?
    /// The facts of the connection that was returned to the pool while the client is asked for the body, until the
    /// request gets a connection, which may be the same one.
    @exclusivity(unchecked) var returnedFacts: ConnectionFacts?

    // MARK: Retries (ExchangeStage+Retries)

    @exclusivity(unchecked) var retries: ExchangeRetries
    /// Sends the refused request again when it fires.
    @exclusivity(unchecked) var pauseTimer: LoopTimer?
    /// Whether the server has not processed the request when it was sent last.
    @exclusivity(unchecked) var isUnprocessed = false
    /// Whether a server that is not the origin's own has declined the request with 421.
    @exclusivity(unchecked) var wasMisdirected = false

    // MARK: WebSockets (ExchangeStage+Tunnel)

    /// Set if the request opens a WebSocket: it may then be an extended CONNECT on a connection that the origin shares.
    let handshake: WebSocketHandshake?
    /// The stream of the extended CONNECT, if the request is one.
    @exclusivity(unchecked) var tunnel: WebSocketTunnel?

    init(
        _ request: consuming ExchangeRequest, to url: HTTPURL, by routeList: ProxyRouteList, identity: UInt64,
        priority: Float,
        for load: HTTPLoad
    ) {
        self.url = url
        self.identity = identity
        self.routeList = routeList
        let all = url.scheme == .ftp ? routeList.routes.filter { $0.mayCarry(url) } : routeList.routes
        // The selector is not even allocated for one route.
        if all.count > 1 {
            routeSelector = RouteSelector(
                all, to: ProxyDestination(url), in: load.environment.proxies, idleTimeout: load.request.idleTimeout)
        }
        route = routeSelector?.current ?? all.first
        key = Self.connectionKey(
            of: url, identity, switchesProtocol: request.fields.contains("Upgrade"), by: route, for: load)
        self.priority = priority
        needsStream = !load.request.body.isReplayable
        isRepeatable = load.request.body.isReplayable && RequestMethod.isIdempotent(request.method)
        self.request = consume request
        handshake = load.handshake
        assumesHTTP3 = load.request.assumesHTTP3
        self.load = load
        environment = load.environment
        retries = ExchangeRetries(at: environment.loop.now)
        log = load.log
        routeSelector?.owner = self
    }

    /// The key of the connection that the request needs on this route. Without a route the key is not used.
    ///
    /// - Parameters:
    ///   - identity: The identity of the connections to the server; 0 for shared ones.
    ///   - switchesProtocol: Whether the connection may switch to another protocol. It must then use HTTP/1.1, and
    ///     reach the server itself instead of a proxy that loads the request.
    static func connectionKey(
        of url: HTTPURL, _ identity: UInt64, switchesProtocol: Bool, by route: ProxyRoute?, for load: HTTPLoad
    ) -> ConnectionKey {
        let service = load.request.service
        let proxy: ProxyServer? = if case .through(let proxy) = route { proxy } else { nil }
        let pool = load.environment.pool
        // PROXY-5
        if let proxy, proxy.forwards, url.scheme == .http || url.scheme == .ftp, !switchesProtocol {
            return pool.usable(
                ConnectionKey(
                    isSecure: proxy.kind == .https, host: proxy.host, port: proxy.port, identity: identity,
                    needsHTTP1: true, service: service,
                    proxyMode: .forwarding(proxy, identity: load.identity(for: proxy))))
        }
        return pool.usable(
            ConnectionKey(
                isSecure: url.scheme.isSecure, host: url.host, port: url.port, identity: identity,
                needsHTTP1: switchesProtocol, service: service, proxyMode: proxy.map { .tunnel($0) }))
    }

    func start(onNewConnection: Bool = false) {
        guard route != nil else {
            // A proxy is required, and it is not usable. The failure is reported after this function returns.
            let failure = ConnectionFailure(routeList.failure(url.scheme.isSecure ? .tunnel : .request), of: nil)
            return environment.loop.runLater { [weak self] in
                self?.end { $0.exchangeFailedToConnect(failure, after: nil) }
            }
        }
        if environment.pool.requiresVersion, let obstacle = environment.pool.obstacle(to: key) {
            return environment.loop.runLater { [weak self] in self?.end { $0.exchangeFailed(obstacle) } }
        }
        retries.attempts += 1
        isHeld = false
        needsNewConnection = onNewConnection
        sentBodyBytes = 0
        sentWireBytes = 0
        progress = AcknowledgedProgress()
        tunnel = nil
        if let handshake, !onNewConnection, openTunnel(for: handshake) { return }
        if !onNewConnection,
            let connection = environment.pool.takeIdle(
                key, isRepeatable: isRepeatable, assumesHTTP3: assumesHTTP3)
        {
            return connectionBecameAvailable(connection, isReused: true, events: [])
        }
        let pendingConnection = ConnectionRequest(
            key: key, priority: priority, acceptsReused: !onNewConnection, isRepeatable: isRepeatable,
            assumesHTTP3: assumesHTTP3, early: early, delegate: self)
        self.pendingConnection = pendingConnection
        environment.pool.request(pendingConnection)
    }

    /// The request, if it may be sent as early data. A replay of the request, which early data permits, must be
    /// harmless (RFC 8470). The request must contain no credentials, and the client must not want connection
    /// challenges.
    private var early: ExchangeRequest? {
        guard let load, load.request.allowsEarlyData, load.client?.wantsConnectionChallenges == false,
            retries.attempts == 1,
            request.method == "GET" || request.method == "HEAD", case .none = request.body, !needsStream,
            !request.fields.contains("Authorization")
        else { return nil }
        return request
    }

    /// Sends the request over a connection that was held for it, on the stage's only route.
    ///
    /// - Parameter isBound: Whether the request contains a field that is valid only on this connection.
    func start(on connection: any HTTPExchangeStream, isBound: Bool) {
        retries.attempts += 1
        isHeld = true
        self.isBound = isBound
        connectionBecameAvailable(connection, isReused: true, events: [])
    }

    /// Keeps the connection for the next exchange of the same authentication, which owns it from now on.
    func hold(isBeginning: Bool) -> HeldConnection? {
        guard let connection, let route else { return nil }
        connection.hold()
        return HeldConnection(stream: connection, route: route, isBeginning: isBeginning)
    }

    /// The identity of the request's connection to the server, or to the proxy that loads it; nil for a shared
    /// connection.
    func identity(of source: ChallengeSource) -> UInt64? {
        var identity = identity
        if source == .proxy, case .forwarding(_, let own) = key.proxyMode { identity = own }
        return identity == 0 ? nil : identity
    }

    /// Binds an authentication by the server, or by the proxy that loads the request, to the TLS session with it
    /// (AUTH-37).
    func channelBinding(of source: ChallengeSource) -> ChannelBinding? {
        // A proxy that loads the request has no TLS session of ours with the server.
        let end: ChallengeSource = forwarder == nil ? .server : .proxy
        return source == end ? connection?.channelBinding : nil
    }

    /// Whether this status is a challenge to a request that omitted its authentication field. The field was omitted
    /// because the connection may already be authenticated for the user.
    func isChallengeForWithheldField(status: Int) -> Bool {
        guard !withheldFields.isEmpty, let source = ChallengeSource(status: status) else { return false }
        return withheldFields.contains(source.credentialField)
    }

    /// Ends the stage without a callback to the load.
    func cancel() {
        load = nil
        routeSelector?.stopTimer()
        if let pauseTimer { environment.loop.disarm(pauseTimer) }
        withdrawConnectionRequest()
        recordBreak()
        connection?.cancel()
        connection = nil
        returnReserved()
    }

    private func withdrawConnectionRequest() {
        guard let pendingConnection else { return }
        self.pendingConnection = nil
        append(pendingConnection.eventsSoFar)
        environment.pool.withdraw(pendingConnection)
    }

    /// The first bytes of the body that were read together with the head; nil if they are delivered later in the turn.
    func startOfBody(most: Int) -> [UInt8]? { connection.map { $0.startOfBody(most: most) } ?? [] }

    /// Holds back the bytes after the head of the response until `resumeBody` or `detachConnection`.
    func holdBody() { connection?.holdBody() }

    func resumeBody() { connection?.resumeBody() }

    /// Detaches the connection and ends the stage without a callback to the load.
    func detachConnection() -> DetachedConnection? {
        guard let detached = connection?.detachConnection() else { return nil }
        load = nil
        connection = nil
        return detached
    }

    func setPriority(_ priority: Float) {
        self.priority = priority
        if let pendingConnection { environment.pool.setPriority(priority, of: pendingConnection) }
        connection?.setPriority(priority)
    }

    func setPaused(_ paused: Bool) { connection?.setPaused(paused) }

    func setSuspended(_ suspended: Bool) {
        connection?.setSuspended(suspended || isRequestBodyHeld)
        if !suspended, !needsStream { sendOverReserved() }
    }

    /// Holds the rest of the request's body while the client decides about the head of the response, after which the
    /// request is probably sent again. A stream that stopped in the middle of its body would give up the response,
    /// which the client may want. HTTP/1.1 has stopped already.
    func holdRequestBody(_ isHeld: Bool) {
        guard isHeld != isRequestBodyHeld, let connection, connection.isShared else { return }
        isRequestBodyHeld = isHeld
        connection.setSuspended(isHeld || load?.isSuspended == true)
    }

    /// Whether the default evaluation trusts the server at the other end.
    var isConnectionTrusted: Bool { connection?.isTrusted ?? false }

    /// Whether the stage has a connection, or will request one again when the client has provided the body.
    var hasConnection: Bool { connection != nil || reserved != nil || asksAgain }

    /// Whether the server has acknowledged more of the request's body since the last call. The kernel buffers much of
    /// the body at once, and its later acknowledgement is progress as well (CONN-15, CONN-17).
    func hasProgressed() -> Bool {
        if case .none = request.body { return false }
        guard let acknowledgement = connection?.acknowledgement else { return false }
        return progress.hasProgressed(to: acknowledgement, sent: sentWireBytes)
    }

    /// The time at which bytes of the response, or of the handshakes before it, last arrived, even if nothing was made
    /// of them yet (CONN-15).
    var lastArrival: Int64? {
        if let connection { connection.lastArrival } else { pendingConnection?.lastArrival }
    }

    /// Whether the stage waits for the network. False in the queue for a connection (CONN-24), and while the client is
    /// asked about the connection or for the body.
    var isActive: Bool {
        connection != nil || isPausing || pendingConnection?.isBeingServed == true && question?.isOpen != true
    }

    /// The error of a timeout. A silent proxy has a different error from a silent server (PROXY-10).
    var timeoutError: LoadError {
        guard let proxyMode = key.proxyMode, pendingPhase != nil else { return .timedOut }
        return proxyMode.timeoutError
    }

    var pendingPhase: PendingPhase? { pendingConnection?.pendingPhase }

    /// Drains the rest of a response that is not delivered, to keep the connection if that is cheap. `then` is
    /// called in a later turn, when the connection is free or abandoned.
    func drain(then: (@Sendable () -> Void)? = nil) {
        load = nil
        connection?.drain(then: then)
        connection = nil
        returnReserved()
    }

    private var reportsHeads: Bool { environment.headObserver != nil || log?.tracesHeads == true }

    private func report(_ head: ResponseHead) {
        if reportsHeads { report(MessageHead(head)) }
    }

    private func report(_ head: MessageHead) {
        guard let observer = environment.headObserver else { return log?.traceOnly(.messageHead(head)) ?? () }
        log?.record(.messageHead(head))
        observer(head)
    }

    func recordBreak() {
        guard log != nil, let connection else { return }
        log?.record(
            .exchangeBroken(sent: sentWireBytes, content: sentBodyBytes, received: connection.receivedBodyWireBytes))
    }

    private func append(_ events: [LoadEvent]) { log?.append(events) }

    // MARK: Connection

    func connectionIsBeingMade() {
        load?.noteActivity()
        routeSelector?.startTimer()
    }

    func connectionReceived(challenge question: ConnectionChallenge) -> Bool {
        guard let load, load.exchangeAsks(question) else { return false }
        self.question = question
        return true
    }

    func connectionBecameAvailable(_ connection: any HTTPExchangeStream, isReused: Bool, events: [LoadEvent]) {
        let wasPending = pendingConnection != nil
        pendingConnection = nil
        if isReused { routeSelector?.stopTimer() } else { routeSelector?.succeeded() }
        guard let load else { return connection.returnUnused() }
        if wasPending, load.exchangeMustBecomeSecure {
            connection.returnUnused()
            return becomeSecure(load)
        }
        let isSame = returnedFacts.map { connection.facts(isReused: $0.isReused) == $0 } ?? false
        // A connection that is not shared may have carried another request meanwhile.
        self.isReused = isSame && connection.isShared ? returnedFacts?.isReused == true : isReused
        returnedFacts = nil
        load.noteActivity()
        if log != nil, !isSame {
            append(events)
            log?.record(.connectionAssigned(connection.facts(isReused: isReused)))
        }
        if needsStream { requestBody(of: load, for: connection) } else { send(over: connection) }
    }

    /// Ends the stage. The load prepares its request anew (TLS-7).
    func becomeSecure(_ load: HTTPLoad) {
        self.load = nil
        load.exchangeBecomesSecure()
    }

    func send(over connection: any HTTPExchangeStream) {
        self.connection = connection
        log?.record(.requestStarted)
        if priority != 0.5 { connection.setPriority(priority) }
        var request = forwarded() ?? request
        withheldFields = isReused && !isHeld ? load?.fieldsOfConversations ?? [] : []
        if !withheldFields.isEmpty {
            request.fields = request.fields.without(names: withheldFields)
        } else if !isBound, let names = load?.fieldsBoundElsewhere(than: { channelBinding(of: $0) }), !names.isEmpty {
            request.fields = request.fields.without(names: names)
            // A retry omits them too, because their authentications are given up.
            self.request.fields = self.request.fields.without(names: names)
        }
        if let tunnel, let handshake { request.becomeConnect(handshake, through: tunnel) }
        if reportsHeads {
            report(MessageHead(request, over: connection.facts(isReused: isReused).protocolName))
        }
        connection.start(request, observer: tunnel ?? self)
    }

    func connectionFailed(_ failure: ConnectionFailure, events: [LoadEvent]) {
        pendingConnection = nil
        append(events)
        if load != nil, routeSelector?.failed(failure) == true { return useNextRoute() }
        end { $0.exchangeFailedToConnect(failure, after: retries.loss) }
    }

    func useNextRoute() {
        withdrawConnectionRequest()
        guard let load else { return }
        route = routeSelector?.current
        key = Self.connectionKey(
            of: url, identity, switchesProtocol: request.fields.contains("Upgrade"), by: route, for: load)
        load.noteActivity()
        // The request was not lost.
        retries.attempts = 0
        start()
    }

    /// The request in the form for a proxy that loads it itself; nil without such a proxy.
    private func forwarded() -> ExchangeRequest? {
        guard let forwarder, case .origin(let target) = request.target else { return nil }
        var request = request
        request.target = .absolute(
            scheme: url.scheme.name.description, authority: String(decoding: url.authority, as: UTF8.self),
            target: target)
        if let value = load?.authorization(for: forwarder, of: routeList) {
            request.fields.append(ChallengeSource.proxy.credentialField, value)
        }
        return request
    }

    /// The proxy that loads the request itself; nil without one.
    var forwarder: ProxyServer? { if case .forwarding(let proxy, _) = key.proxyMode { proxy } else { nil } }

    var proxyAuthorizer: (any ProxyAuthorizer)? { load?.proxyAuthorizer }

    func end(_ report: (HTTPLoad) -> Void) {
        guard let load else { return }
        self.load = nil
        connection = nil
        report(load)
    }

    // MARK: Exchange

    func exchangeSentHead(bytes: Int) {
        log?.record(.requestHeadSent(bytes: Int64(bytes)))
        load?.noteActivity()
    }

    func exchangeSentBody(bytes: Int, onWire: Int) {
        sentBodyBytes += Int64(bytes)
        sentWireBytes += Int64(onWire)
        guard bytes > 0 else { return load?.noteActivity() ?? () }
        load?.exchangeSentBody(Int64(bytes), total: sentBodyBytes)
    }

    func exchangeSentRequest() {
        load?.exchangeSentRequest(sentBodyBytes)
        log?.record(.requestEnded(bytes: sentWireBytes, content: sentBodyBytes))
    }

    func exchangeSentRequestEarly(from start: Int64, until end: Int64) {
        load?.exchangeSentRequest(0)
        guard let log else { return }
        log.record(.requestStarted, at: start)
        log.record(.requestEnded(bytes: 0, content: 0), at: end)
    }

    func exchangeStartedResponse() { log?.record(.responseStarted) }

    func exchangeReceived(informational head: ResponseHead) {
        log?.record(.informationalResponse(status: head.status))
        report(head)
        load?.exchangeReceived(informational: head)
    }

    func exchangeReceived(head: ResponseHead, body: BodyLength) {
        report(head)
        if head.status == 421, retryMisdirected() { return }
        hasHead = true
        log?.record(
            .responseHead(status: head.status, isHTTP10: head.version == .http10, bytes: Int64(head.byteCount)))
        // A server that is not the origin's cannot announce alternatives for it (RFC 7838 §6).
        if url.scheme.isSecure, isConnectionTrusted, head.status != 421 {
            environment.pool.noteAlternatives(in: head.fields, from: url)
        }
        load?.exchangeReceived(head: head, body: body)
    }

    func exchangeReceived(body: UnsafeRawBufferPointer) {
        load?.exchangeReceived(body: body)
    }

    func exchangeBuffer(most: Int) -> UnsafeMutableRawBufferPointer? { load?.sink.room(most: most) }

    func exchangeFilled(_ count: Int) { load?.exchangeFilled(count) }

    func exchangePipe() -> Int32? { load?.sink.pipe }

    func exchangeFilledPipe(_ count: Int) { load?.exchangeFilledPipe(count) }

    func exchangeTurnEnded() { load?.deliverAwaitedResponse() }

    func exchangeEnded(bodyBytes: Int64) { end { $0.exchangeEnded(bodyBytes: bodyBytes) } }
}

extension ProxyRoute {
    /// Whether a request for the URL can use this route. FTP needs a proxy that loads the request.
    fileprivate func mayCarry(_ url: HTTPURL) -> Bool {
        guard url.scheme == .ftp else { return true }
        if case .through(let proxy) = self { return proxy.forwards }
        return false
    }
}
