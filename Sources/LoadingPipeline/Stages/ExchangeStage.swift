internal import LoadingConnections
internal import LoadingEvents
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

/// The last stage: a connection from the pool, one request on it, and one response from it. Retries if the connection
/// was lost before the server can have processed the request (CONN-10). Confined to the load's loop.
final class ExchangeStage: ConnectionRequestDelegate, ExchangeObserver, LoopTimerTarget {
    /// Cleared when the stage is done, which also breaks the reference cycle with the load.
    @exclusivity(unchecked) private var load: HTTPLoad?
    private let environment: LoadingEnvironment
    @exclusivity(unchecked) private var request: ExchangeRequest
    private let url: HTTPURL
    private let identity: UInt64
    /// The current route to the server; nil if there is none.
    @exclusivity(unchecked) private(set) var way: ProxyRoute?
    /// Set if there are several routes.
    @exclusivity(unchecked) private var ways: RouteSelector?
    private let route: ProxyRouteList
    @exclusivity(unchecked) private var origin: ConnectionKey
    private var priority: Float
    /// Whether the request may be sent again if its connection is lost (CONN-10).
    private let isRepeatable: Bool
    private let assumesHTTP3: Bool
    private var wish: ConnectionRequest?
    /// The challenge about the connection that is being made, for the client.
    private var question: ConnectionChallenge?
    @exclusivity(unchecked) private var connection: (any HTTPExchangeStream)?
    /// Whether the client is asked for the body when there is a connection (S-50).
    private var needsStream: Bool
    /// The connection for the request, while the client is asked for the body.
    private var reserved: (any HTTPExchangeStream)?
    /// Whether the client did not provide the body at once.
    private var hasWaited = false
    /// Returns the reserved connection to the pool when it fires.
    private var reservationTimer: LoopTimer?
    /// The facts of the connection that was returned to the pool while the client is asked for the body, until the
    /// request gets a connection, which may be the same one.
    private var givenBack: ConnectionFacts?
    /// Whether an idle connection is not acceptable, because the request was lost on one.
    private var needsNewConnection = false
    private var isReused = false
    /// Set if the request opens a WebSocket: it may then be an extended CONNECT on a connection that the origin shares.
    private let handshake: WebSocketHandshake?
    /// The stream of the extended CONNECT, if the request is one.
    private var tunnel: WebSocketTunnel?
    /// Whether the request contains a field that is valid only on this connection.
    private var isBound = false
    /// Whether the connection was held for the request.
    private var isHeld = false
    /// The fields that the request omits on a connection that may already be authenticated for the user.
    @exclusivity(unchecked) private var withheldFields: [String] = []
    private var attempts = 0
    /// How often the request, which may have been processed, was lost while the server answered other requests.
    private var lossesWhileServing = 0
    /// How often in a row the server has refused the request and answered no other request.
    private var refusals = 0
    /// The time of the last loss of the request, or of its start.
    private var lastLoss: Int64
    /// Sends the refused request again when it fires.
    private var pauseTimer: LoopTimer?
    /// The acknowledged bytes at the last check.
    private var progress = AcknowledgedProgress()
    /// Whether the final response has begun. It begins only once.
    private var hasHead = false
    /// The last error that ended a request which the server may have received.
    private var loss: LoadError?
    /// Whether a server that is not the origin's own has declined the request with 421.
    private var wasSentAway = false
    private var log: EventLog?
    private var sentBodyBytes: Int64 = 0
    private var sentWireBytes: Int64 = 0

    init(
        _ request: consuming ExchangeRequest, to url: HTTPURL, by route: ProxyRouteList, identity: UInt64,
        priority: Float,
        for load: HTTPLoad
    ) {
        self.url = url
        self.identity = identity
        self.route = route
        let all = url.scheme == .ftp ? route.routes.filter { $0.mayCarry(url) } : route.routes
        ways = RouteSelector(
            all, to: ProxyDestination(url), in: load.environment.proxies, idleTimeout: load.request.idleTimeout)
        way = ways?.current ?? all.first
        origin = Self.origin(of: url, identity, request.fields, by: way, for: load)
        self.priority = priority
        needsStream = !load.request.body.isLasting
        isRepeatable = load.request.body.isLasting && RequestMethod.isIdempotent(request.method)
        self.request = request
        handshake = load.handshake
        assumesHTTP3 = load.request.assumesHTTP3
        self.load = load
        environment = load.environment
        lastLoss = environment.loop.now
        log = load.log
        ways?.onSilence = { [weak self] in self?.wayIsSilent() }
    }

    /// The key of the connection that the request needs on this route. Without a route the key is not used.
    private static func origin(
        of url: HTTPURL, _ identity: UInt64, _ fields: HTTPFields, by way: ProxyRoute?, for load: HTTPLoad
    ) -> ConnectionKey {
        load.environment.pool.usable(
            url.origin(
                of: identity, switchesProtocol: fields.contains("Upgrade"), by: way ?? .direct,
                service: load.request.service
            ) {
                load.identity(for: $0)
            })
    }

    func start(onNewConnection: Bool = false) {
        guard way != nil else {
            // A proxy is required, and it is not usable. The failure is reported after this function returns.
            let failure = ConnectionFailure(route.failure(url.scheme.isSecure ? .tunnel : .request), of: nil)
            let tell = LoopBox({ [weak self] in self?.end { $0.exchangeFoundNoWay(failure, after: nil) } ?? () })
            return environment.loop.post { tell.value() }
        }
        if let obstacle = environment.pool.obstacle(to: origin) {
            let tell = LoopBox({ [weak self] in self?.end { $0.exchangeFailed(obstacle) } ?? () })
            return environment.loop.post { tell.value() }
        }
        attempts += 1
        isHeld = false
        needsNewConnection = onNewConnection
        sentBodyBytes = 0
        sentWireBytes = 0
        progress = AcknowledgedProgress()
        tunnel = nil
        if let handshake, !onNewConnection, openTunnel(for: handshake) { return }
        if !onNewConnection,
            let connection = environment.pool.takeIdle(
                origin, isRepeatable: isRepeatable, assumesHTTP3: assumesHTTP3)
        {
            return connectionBecameAvailable(connection, isReused: true, events: [])
        }
        let wish = ConnectionRequest(
            origin: origin, priority: priority, acceptsReused: !onNewConnection, isRepeatable: isRepeatable,
            assumesHTTP3: assumesHTTP3, early: early, delegate: self)
        self.wish = wish
        environment.pool.request(wish)
    }

    /// Sends an extended CONNECT, if the origin has a connection whose server allows it (RFC 8441, RFC 9220).
    private func openTunnel(for handshake: WebSocketHandshake) -> Bool {
        guard let load, url.scheme.isSecure else { return false }
        let shared = url.origin(
            of: identity, switchesProtocol: false, by: way ?? .direct, service: load.request.service
        ) { load.identity(for: $0) }
        guard let stream = environment.pool.takeTunnelStream(to: environment.pool.usable(shared)) else { return false }
        tunnel = WebSocketTunnel(stream, on: environment.loop, before: self)
        connectionBecameAvailable(stream, isReused: true, events: [])
        return true
    }

    /// Whether the request was sent as an extended CONNECT.
    var isTunnel: Bool { tunnel != nil }

    /// Gives up the stream of the extended CONNECT and ends the stage without a callback to the load.
    func giveTunnelAway() -> WebSocketTunnel? {
        guard let tunnel, connection != nil else { return nil }
        self.tunnel = nil
        load = nil
        connection = nil
        return tunnel
    }

    /// The request, if it may be sent as early data. A replay of the request, which early data permits, must be
    /// harmless (RFC 8470). The request must contain no credentials, and the client must not want connection
    /// challenges.
    private var early: ExchangeRequest? {
        guard let load, load.request.allowsEarlyData, load.client?.wantsConnectionChallenges == false, attempts == 1,
            request.method == "GET" || request.method == "HEAD", case .none = request.body, !needsStream,
            !request.fields.contains("Authorization")
        else { return nil }
        return request
    }

    /// Sends the request over a connection that was held for it, on the stage's only route.
    ///
    /// - Parameter isBound: Whether the request contains a field that is valid only on this connection.
    func start(on connection: any HTTPExchangeStream, isBound: Bool) {
        attempts += 1
        isHeld = true
        self.isBound = isBound
        connectionBecameAvailable(connection, isReused: true, events: [])
    }

    /// Keeps the connection for the next exchange of the same authentication, which owns it from now on.
    func hold(isBeginning: Bool) -> HeldConnection? {
        guard let connection, let way else { return nil }
        connection.hold()
        return HeldConnection(carrier: connection, way: way, isBeginning: isBeginning)
    }

    /// The identity of the request's connection to the server, or to the proxy that loads it; nil for a shared
    /// connection.
    func identity(of asker: ChallengeSource) -> UInt64? {
        var identity = identity
        if asker == .proxy, case .forwarding(_, let own) = origin.proxyMode { identity = own }
        return identity == 0 ? nil : identity
    }

    /// Whether this status is a challenge to a request that omitted its authentication field. The field was omitted
    /// because the connection may already be authenticated for the user.
    func withheldProof(askedBy status: Int) -> Bool {
        guard !withheldFields.isEmpty, let asker = ChallengeSource(status: status) else { return false }
        return withheldFields.contains(asker.credentialField)
    }

    /// Ends the stage without a callback to the load.
    func cancel() {
        load = nil
        ways?.rest()
        if let pauseTimer { environment.loop.disarm(pauseTimer) }
        if let wish {
            self.wish = nil
            append(wish.eventsSoFar)
            environment.pool.withdraw(wish)
        }
        recordBreak()
        connection?.cancel()
        connection = nil
        giveBackReserved()
    }

    private func giveBackReserved() {
        guard let reserved = takeReserved() else { return }
        if isBound { reserved.letGo() } else { reserved.returnUnused() }
    }

    private func takeReserved() -> (any HTTPExchangeStream)? {
        if let reservationTimer { environment.loop.disarm(reservationTimer) }
        defer { reserved = nil }
        return reserved
    }

    /// The first bytes of the body that were read together with the head; nil if they are delivered later in the turn.
    func startOfBody(most: Int) -> [UInt8]? { connection.map { $0.startOfBody(most: most) } ?? [] }

    /// Holds back the bytes after the head of the response until `resumeBody` or `giveConnectionAway`.
    func holdBody() { connection?.holdBody() }

    func resumeBody() { connection?.resumeBody() }

    /// Detaches the connection and ends the stage without a callback to the load.
    func giveConnectionAway() -> DetachedConnection? {
        guard let handed = connection?.detachConnection() else { return nil }
        load = nil
        connection = nil
        return handed
    }

    func setPriority(_ priority: Float) {
        self.priority = priority
        if let wish { environment.pool.setPriority(priority, of: wish) }
        connection?.setPriority(priority)
    }

    func setPaused(_ paused: Bool) { connection?.setPaused(paused) }

    func setSuspended(_ suspended: Bool) {
        connection?.setSuspended(suspended)
        if !suspended, !needsStream { sendOverReserved() }
    }

    /// Whether the default evaluation trusts the server at the other end.
    var isConnectionTrusted: Bool { connection?.isTrusted ?? false }

    /// Whether the stage has a connection, or will request one again when the client has provided the body.
    var hasConnection: Bool { connection != nil || reserved != nil || asksAgain }

    private var asksAgain: Bool { givenBack != nil && wish == nil && connection == nil }

    /// Whether the server has acknowledged more of the request's body since the last call. The kernel buffers much of
    /// the body at once, and its later acknowledgement is progress as well (CONN-15, CONN-17).
    func hasProgressed() -> Bool {
        if case .none = request.body { return false }
        guard let acknowledgement = connection?.acknowledgement else { return false }
        return progress.look(at: acknowledgement, handed: sentWireBytes)
    }

    /// Whether the stage waits for the network. False in the queue for a connection (CONN-24), and while the client is
    /// asked about the connection or for the body.
    var isActive: Bool { connection != nil || wish?.isBeingServed == true && question?.isOpen != true }

    /// The error of a timeout. A silent proxy has a different error from a silent server (PROXY-10).
    var silence: LoadError {
        guard let proxyMode = origin.proxyMode, wish?.awaits != nil else { return .timedOut }
        return proxyMode.silence
    }

    /// Drains the rest of a response that is not delivered, to keep the connection if that is cheap. `then` is
    /// called in a later turn, when the connection is free or abandoned.
    func drain(then: (@Sendable () -> Void)? = nil) {
        load = nil
        connection?.drain(then: then)
        connection = nil
        giveBackReserved()
    }

    private func record(_ kind: LoadEvent.Kind) {
        if let log { log.record(kind, at: EventLog.now) }
    }

    private var showsHeads: Bool { environment.headObserver != nil || log?.tracesHeads == true }

    private func show(_ head: ResponseHead) {
        if showsHeads { show(MessageHead(head)) }
    }

    private func show(_ head: MessageHead) {
        guard let observer = environment.headObserver else { return log?.traceOnly(.messageHead(head)) ?? () }
        record(.messageHead(head))
        observer(head)
    }

    private func recordBreak() {
        guard log != nil, let connection else { return }
        record(
            .exchangeBroken(sent: sentWireBytes, content: sentBodyBytes, received: connection.receivedBodyWireBytes))
    }

    private func append(_ events: [LoadEvent]) {
        guard let log else { return }
        for event in events { log.record(event.kind, at: event.time) }
    }

    // MARK: Connection

    func connectionIsBeingMade() {
        load?.exchangeIsActive()
        ways?.begins()
    }

    func connectionReceived(challenge question: ConnectionChallenge) -> Bool {
        guard let load, load.exchangeAsks(question) else { return false }
        self.question = question
        return true
    }

    func connectionBecameAvailable(_ connection: any HTTPExchangeStream, isReused: Bool, events: [LoadEvent]) {
        wish = nil
        if isReused { ways?.rest() } else { ways?.succeeded() }
        guard let load else { return connection.returnUnused() }
        let isSame = givenBack.map { connection.facts(isReused: $0.isReused) == $0 } ?? false
        // A connection that is not shared may have carried another request meanwhile.
        self.isReused = isSame && connection.isShared ? givenBack?.isReused == true : isReused
        givenBack = nil
        load.exchangeIsActive()
        if log != nil, !isSame {
            append(events)
            record(.connectionAssigned(connection.facts(isReused: isReused)))
        }
        guard needsStream else { return send(over: connection) }
        reserved = connection
        hasWaited = false
        load.withBody { [weak self] body in
            guard let self, needsStream, self.load != nil else { return }
            request.body = body
            needsStream = false
            if self.load?.isSuspended == false { sendOverReserved() }
        }
        hasWaited = true
        guard reserved != nil, !isBound else { return }
        if connection.isShared { return giveBackUntilBody() }
        let timer = reservationTimer ?? LoopTimer()
        reservationTimer = timer
        environment.loop.arm(timer, at: environment.loop.now &+ environment.loop.limits.bodyReservation, for: self)
    }

    /// The client may take any time, and its answer may depend on another request to the same server.
    private func giveBackUntilBody() {
        guard let reserved = takeReserved() else { return }
        givenBack = reserved.facts(isReused: isReused)
        reserved.returnUnused()
    }

    /// Sends the request after the client has provided the body. If that took time, the server may have closed the
    /// connection meanwhile.
    private func sendOverReserved() {
        if let reserved = takeReserved() {
            if isBound || !hasWaited || reserved.confirm() { return send(over: reserved) }
        } else if !asksAgain {
            return
        }
        // Nothing was sent, so this was not an attempt.
        attempts -= 1
        start(onNewConnection: needsNewConnection)
    }

    private func send(over connection: any HTTPExchangeStream) {
        self.connection = connection
        record(.requestStarted)
        if priority != 0.5 { connection.setPriority(priority) }
        var request = forwarded() ?? request
        withheldFields = isReused && !isHeld ? load?.fieldsOfConversations ?? [] : []
        if !withheldFields.isEmpty { request.fields = request.fields.without(names: withheldFields) }
        if let tunnel, let handshake { request.becomeConnect(handshake, through: tunnel) }
        if showsHeads {
            show(MessageHead(request, over: connection.facts(isReused: isReused).protocolName))
        }
        connection.start(request, observer: tunnel ?? self)
    }

    func connectionFailed(_ failure: ConnectionFailure, events: [LoadEvent]) {
        wish = nil
        append(events)
        guard let load, ways?.failed(failure) == true else {
            return end { $0.exchangeFoundNoWay(failure, after: loss) }
        }
        goNextWay(for: load)
    }

    private func wayIsSilent() {
        guard let load, let wish else { return }
        // Nil in the queue, while a challenge is open, and once the proxy has done its part.
        guard let step = wish.awaits else { return ways?.goesOn() ?? () }
        guard ways?.wasSilent(at: step) == true else { return }
        self.wish = nil
        append(wish.eventsSoFar)
        environment.pool.withdraw(wish)
        goNextWay(for: load)
    }

    private func goNextWay(for load: HTTPLoad) {
        way = ways?.current
        origin = Self.origin(of: url, identity, request.fields, by: way, for: load)
        load.exchangeIsActive()
        // The request was not lost.
        attempts = 0
        start()
    }

    /// The request in the form for a proxy that loads it itself; nil without such a proxy.
    private func forwarded() -> ExchangeRequest? {
        guard let forwarder, case .origin(let path, let query) = request.target else { return nil }
        var request = request
        request.target = .absolute(
            scheme: url.scheme.name.description, authority: String(decoding: url.authority, as: UTF8.self), path: path,
            query: query)
        if let value = load?.authorization(for: forwarder, of: route) {
            request.fields.append(ChallengeSource.proxy.credentialField, value)
        }
        return request
    }

    /// The proxy that loads the request itself; nil without one.
    var forwarder: ProxyServer? { if case .forwarding(let proxy, _) = origin.proxyMode { proxy } else { nil } }

    var proxyAuthorizer: (any ProxyAuthorizer)? { load?.proxyAuthorizer }

    private func end(_ tell: (HTTPLoad) -> Void) {
        guard let load else { return }
        self.load = nil
        connection = nil
        tell(load)
    }

    // MARK: Exchange

    func exchangeSentHead(bytes: Int) {
        record(.requestHeadSent(bytes: Int64(bytes)))
        load?.exchangeIsActive()
    }

    func exchangeSentBody(bytes: Int, onWire: Int) {
        sentBodyBytes += Int64(bytes)
        sentWireBytes += Int64(onWire)
        guard bytes > 0 else { return load?.exchangeIsActive() ?? () }
        load?.exchangeSentBody(Int64(bytes), total: sentBodyBytes)
    }

    func exchangeSentRequest() {
        load?.exchangeSentRequest(sentBodyBytes)
        record(.requestEnded(bytes: sentWireBytes, content: sentBodyBytes))
    }

    func exchangeSentRequestEarly(from start: Int64, until end: Int64) {
        load?.exchangeSentRequest(0)
        guard let log else { return }
        log.record(.requestStarted, at: start)
        log.record(.requestEnded(bytes: 0, content: 0), at: end)
    }

    func exchangeStartedResponse() { record(.responseStarted) }

    func exchangeReceived(informational head: ResponseHead) {
        record(.informationalResponse(status: head.status))
        show(head)
        load?.exchangeReceived(informational: head)
    }

    func exchangeReceived(head: ResponseHead, body: BodyLength) {
        show(head)
        if head.status == 421, goElsewhere() { return }
        hasHead = true
        record(
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

    func exchangeBuffer(most: Int) -> UnsafeMutableRawBufferPointer? { load?.exchangeBuffer(most: most) }

    func exchangeFilled(_ count: Int) { load?.exchangeFilled(count) }

    func exchangePipe() -> Int32? { load?.exchangePipe() }

    func exchangeFilledPipe(_ count: Int) { load?.exchangeFilledPipe(count) }

    func exchangeEnded(bodyBytes: Int64) { end { $0.exchangeEnded(bodyBytes: bodyBytes) } }

    func exchangeFailed(_ failure: ExchangeFailure) {
        recordBreak()
        connection = nil
        guard let load else { return }
        // Whether the next connection may succeed where this one failed. A server that has answered other requests is
        // serving. Its statements about other requests do not prove that.
        let isServing = failure.lastAnswer > lastLoss
        let isOneOfSeveral = isReused || failure.hasOtherWay || !failure.wasAlone || isServing
        lastLoss = environment.loop.now
        // If a stream was read from, another is requested.
        let lost = LostExchange(
            method: request.method, progress: failure.progress, isReusedConnection: isOneOfSeveral,
            isBodyReplayable: true, attempts: attempts,
            lossesWhileServing: lossesWhileServing + (failure.progress == .sent && isServing ? 1 : 0),
            refusals: refusals + 1, isServing: isServing)
        // The loss of a new connection is the server's doing, so a retry would also fail. Exceptions: a request that
        // the server has not processed is safe to retry (CONN-4), and one that was not sent loses nothing by a retry.
        let wasNotSeen = failure.progress == .refused || failure.progress == .unsent
        guard !hasHead, isOneOfSeveral || wasNotSeen, !isBound, failure.error.isConnectionLoss else {
            return end { $0.exchangeFailed(failure.error) }
        }
        let decision = RetryRules.decide(lost, limits: environment.loop.limits)
        if case .fail = decision { return end { $0.exchangeFailed(failure.error) } }
        if !wasNotSeen { loss = failure.error }
        if failure.progress == .refused || wasNotSeen && isServing {
            // This does not count as an attempt.
            attempts -= 1
            refusals = isServing ? 0 : refusals + 1
        } else if isServing {
            attempts -= 1
            lossesWhileServing = lost.lossesWhileServing
        }
        if failure.requiresHTTP1 { environment.pool.requireHTTP1(of: &origin) }
        guard case .retryAfter(let pause) = decision else { return startAgain(for: load) }
        let timer = pauseTimer ?? LoopTimer()
        pauseTimer = timer
        environment.loop.arm(timer, at: environment.loop.now &+ pause, for: self)
    }

    func timerFired(_ timer: LoopTimer) {
        if timer === reservationTimer { return giveBackUntilBody() }
        if let load { startAgain(for: load) }
    }

    /// Sends the request again, to the origin's own server. Applies once, after a coalesced connection or an
    /// alternative service has declined the request (CONN-3). False if that is impossible or already done. Later
    /// requests avoid the declined connection.
    private func goElsewhere() -> Bool {
        guard let load, let connection, connection.mayBeMisdirected else { return false }
        connection.disallowConnection()
        guard !wasSentAway, !isBound else { return false }
        wasSentAway = true
        recordBreak()
        self.connection = nil
        connection.cancel()
        startAgain(for: load)
        return true
    }

    private func startAgain(for load: HTTPLoad) {
        record(.fetchStarted(.retry))
        load.exchangeIsActive()
        if waitsWhileSuspended() { return }
        // Another idle connection may be as stale as this one.
        if isBodyWhole { return start(onNewConnection: true) }
        guard load.request.body.isLasting else {
            needsStream = true
            return start(onNewConnection: true)
        }
        load.withBody { [weak self] body in
            guard let self, self.load != nil, connection == nil, wish == nil, !waitsWhileSuspended() else { return }
            request.body = body
            start(onNewConnection: true)
        }
    }

    /// Ends the stage if the load is suspended. The load sends its request again when it resumes (T-2).
    private func waitsWhileSuspended() -> Bool {
        guard let load, load.isSuspended else { return false }
        self.load = nil
        load.exchangeWaits()
        return true
    }

    /// Whether nothing of the body has been taken from its source.
    private var isBodyWhole: Bool {
        switch request.body {
        case .none, .bytes: true
        case .source(let source, _): source.isUntouched
        }
    }
}

extension ExchangeRequest {
    /// The form over HTTP/2 and HTTP/3 of a request that asks for an upgrade (RFC 8441 §5).
    fileprivate mutating func becomeConnect(_ handshake: WebSocketHandshake, through tunnel: WebSocketTunnel) {
        method = "CONNECT"
        connectProtocol = "websocket"
        body = .source(tunnel, length: nil)
        fields = fields.without(names: WebSocketHandshake.fieldNames)
        for (name, value) in handshake.commonFields { fields.append(name, value) }
    }
}

extension ProxyRoute {
    /// Whether a request for the URL can use this route. FTP needs a proxy that loads the request.
    fileprivate func mayCarry(_ url: HTTPURL) -> Bool {
        guard url.scheme == .ftp else { return true }
        if case .through(let proxy) = self { return proxy.forwards }
        return false
    }
}
