internal import LoadingConnections
internal import LoadingEvents
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

/// The last stage: a connection from the pool, one request on it, one response from it, and a second try when the
/// connection died before the server can have seen the request (CONN-10). Confined to the load's loop.
final class ExchangeStage: ConnectionTaker, ExchangeObserver, LoopTimerTarget {
    /// Cleared when the stage is done, which also breaks the cycle between the two.
    @exclusivity(unchecked) private var load: HTTPLoad?
    private let environment: LoadingEnvironment
    @exclusivity(unchecked) private var request: ExchangeRequest
    private let url: HTTPURL
    private let identity: UInt64
    /// How the server is gone to; nil if there is no way.
    @exclusivity(unchecked) private(set) var way: ProxyRoute?
    /// Where there are several.
    @exclusivity(unchecked) private var ways: RouteSelector?
    private let route: ProxyRouteList
    @exclusivity(unchecked) private var origin: Origin
    private var priority: Float
    /// Whether it may go out a second time should its connection turn out dead (CONN-10).
    private let isRepeatable: Bool
    private let assumesHTTP3: Bool
    private var wish: ConnectionRequest?
    /// What the client is asked about the connection that is being made.
    private var question: SecurityQuestion?
    @exclusivity(unchecked) private var connection: (any ExchangeCarrier)?
    /// Whether the client is to be asked for the body when there is a connection (S-50).
    private var needsStream: Bool
    /// The connection that the request goes out on when the client has given the body.
    private var reserved: (any ExchangeCarrier)?
    /// Whether the client has not given the body at once.
    private var hasWaited = false
    /// Until the reserved connection is given back to the pool.
    private var reservationTimer: LoopTimer?
    /// The connection that was given back while the client is asked for the body, until there is another, or the same again.
    private var givenBack: ConnectionFacts?
    /// Whether a connection that was idle will not do, since the request was lost on one.
    private var needsNewConnection = false
    private var isReused = false
    /// Whether the request says something that only this connection understands.
    private var isBound = false
    /// Whether the connection was held for the request.
    private var isHeld = false
    /// What the request leaves out on a connection that may be proved to be the user's already.
    @exclusivity(unchecked) private var withheldFields: [String] = []
    private var attempts = 0
    /// How often the request, which may have been processed, was lost while the server answered others.
    private var lossesWhileServing = 0
    /// How often in a row the server has refused the request and answered no other.
    private var refusals = 0
    /// When the request was lost last, or begun.
    private var lastLoss: Int64
    /// Until the request goes out again that was refused.
    private var pauseTimer: LoopTimer?
    /// What the server had acknowledged when it was last looked at.
    private var progress = AcknowledgedProgress()
    /// Whether the final response has begun, which begins only once.
    private var hasHead = false
    /// How the request was lost that a server may have seen, once one was.
    private var loss: LoadError?
    /// Whether a server that was not the origin's own has said so.
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
        assumesHTTP3 = load.request.assumesHTTP3
        self.load = load
        environment = load.environment
        lastLoss = environment.loop.now
        log = load.log
        ways?.onSilence = { [weak self] in self?.wayIsSilent() }
    }

    /// To what a request needs a connection that goes a way; without one nobody asks for it.
    private static func origin(
        of url: HTTPURL, _ identity: UInt64, _ fields: HTTPFields, by way: ProxyRoute?, for load: HTTPLoad
    ) -> Origin {
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
            // A proxy is wanted, and there can be no such proxy. Not told before this returns.
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
        if !onNewConnection,
            let connection = environment.pool.takeIdle(
                origin, isRepeatable: isRepeatable, assumesHTTP3: assumesHTTP3)
        {
            return took(connection, isReused: true, events: [])
        }
        let wish = ConnectionRequest(
            origin: origin, priority: priority, acceptsReused: !onNewConnection, isRepeatable: isRepeatable,
            assumesHTTP3: assumesHTTP3, early: early, taker: self)
        self.wish = wish
        environment.pool.request(wish)
    }

    /// The request, if it may go out before a connection is there: it can do no harm if somebody sends it again, which is the
    /// price of that (RFC 8470), it says nothing of a login, and nobody wants to be asked about the server before.
    private var early: ExchangeRequest? {
        guard let load, load.request.allowsEarlyData, load.client?.wantsConnectionChallenges == false, attempts == 1,
            request.method == "GET" || request.method == "HEAD", case .none = request.body, !needsStream,
            !request.fields.contains("Authorization")
        else { return nil }
        return request
    }

    /// Sends the request over a connection that was held for it, and leads the stage's only way.
    ///
    /// - Parameter isBound: Whether the request says something that only this connection understands.
    func start(on connection: any ExchangeCarrier, isBound: Bool) {
        attempts += 1
        isHeld = true
        self.isBound = isBound
        took(connection, isReused: true, events: [])
    }

    /// Keeps the connection for another exchange of the same conversation, whose it is from now on.
    func hold(isBeginning: Bool) -> HeldConnection? {
        guard let connection, let way else { return nil }
        connection.hold()
        return HeldConnection(carrier: connection, way: way, isBeginning: isBeginning)
    }

    /// Whose connection the request has to the server, or to the proxy that loads it; nil for nobody's.
    func identity(of asker: ChallengeSource) -> UInt64? {
        var identity = identity
        if asker == .proxy, case .forwarding(_, let own) = origin.passage { identity = own }
        return identity == 0 ? nil : identity
    }

    /// Whether who asks by this status was not told what there is to say, since its connection may be proved to be the user's.
    func withheldProof(askedBy status: Int) -> Bool {
        guard !withheldFields.isEmpty, let asker = ChallengeSource(status: status) else { return false }
        return withheldFields.contains(asker.credentialField)
    }

    /// Ends the stage; the load hears nothing more from it.
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
        if isBound { reserved.letGo() } else { reserved.putBack() }
    }

    private func takeReserved() -> (any ExchangeCarrier)? {
        if let reservationTimer { environment.loop.disarm(reservationTimer) }
        defer { reserved = nil }
        return reserved
    }

    /// The first bytes of the body that were read together with the head; nil if they are delivered later in the turn.
    func startOfBody(most: Int) -> [UInt8]? { connection.map { $0.startOfBody(most: most) } ?? [] }

    /// Has what follows the head of the response wait for `readRest` or `giveConnectionAway`.
    func holdRest() { connection?.holdRest() }

    func readRest() { connection?.readRest() }

    /// Gives the connection away and ends the stage; the load hears nothing more from it.
    func giveConnectionAway() -> HandedConnection? {
        guard let handed = connection?.giveAway() else { return nil }
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

    /// Whether it has a connection, or is to ask for one again when the client has given the body.
    var hasConnection: Bool { connection != nil || reserved != nil || asksAgain }

    private var asksAgain: Bool { givenBack != nil && wish == nil && connection == nil }

    /// Whether the server has acknowledged some of the request's body since this was last asked: the kernel takes much of
    /// it at once, and what is on its way then is progress as well (CONN-15, CONN-17).
    func hasProgressed() -> Bool {
        if case .none = request.body { return false }
        guard let acknowledgement = connection?.acknowledgement else { return false }
        return progress.look(at: acknowledgement, handed: sentWireBytes)
    }

    /// Whether something of the network's is awaited: not so in the line for a connection (CONN-24), nor while the client
    /// is asked about it or for the body.
    var isActive: Bool { connection != nil || wish?.isBeingServed == true && question?.isOpen != true }

    /// What it is that nothing has come in time: a proxy that has not done its part is told from the server (PROXY-10).
    var silence: LoadError {
        guard let passage = origin.passage, wish?.awaits != nil else { return .timedOut }
        return passage.silence
    }

    /// Lets the rest of a response that nobody wants pass, to keep the connection if that is cheap. `then` is
    /// called in a later turn, when the connection is free or given up.
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

    func connectionAsks(_ question: SecurityQuestion) -> Bool {
        guard let load, load.exchangeAsks(question) else { return false }
        self.question = question
        return true
    }

    func took(_ connection: any ExchangeCarrier, isReused: Bool, events: [LoadEvent]) {
        wish = nil
        if isReused { ways?.rest() } else { ways?.succeeded() }
        guard let load else { return connection.putBack() }
        let isSame = givenBack.map { connection.facts(isReused: $0.isReused) == $0 } ?? false
        // One that is not shared may have carried another request meanwhile.
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
        reserved.putBack()
    }

    /// The client has given the body. If that took its time, the server may have closed the connection meanwhile.
    private func sendOverReserved() {
        if let reserved = takeReserved() {
            if isBound || !hasWaited || reserved.confirm() { return send(over: reserved) }
        } else if !asksAgain {
            return
        }
        // Nothing was sent.
        attempts -= 1
        start(onNewConnection: needsNewConnection)
    }

    private func send(over connection: any ExchangeCarrier) {
        self.connection = connection
        record(.requestStarted)
        if priority != 0.5 { connection.setPriority(priority) }
        var request = forwarded() ?? request
        withheldFields = isReused && !isHeld ? load?.fieldsOfConversations ?? [] : []
        if !withheldFields.isEmpty { request.fields = request.fields.without(names: withheldFields) }
        if showsHeads {
            show(MessageHead(request, over: connection.facts(isReused: isReused).protocolName))
        }
        connection.start(request, observer: self)
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
        // In the line, at a question, or behind the proxy.
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
        // No request was lost.
        attempts = 0
        start()
    }

    /// The request as a proxy wants it that loads it itself; nil where none does.
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

    /// The proxy that loads the request itself, if one does.
    var forwarder: ProxyServer? { if case .forwarding(let proxy, _) = origin.passage { proxy } else { nil } }

    var tunnelSpeaker: (any TunnelSpeaker)? { load?.tunnelSpeaker }

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
        // A server that is not the origin's has nothing to say about it (RFC 7838 §6).
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
        // Whether the next connection may fare better than this one.
        // What a server says of others is no proof that it serves anybody; that it has answered them is.
        let isServing = failure.lastAnswer > lastLoss
        let isOneOfSeveral = isReused || failure.hasOtherWay || !failure.wasAlone || isServing
        lastLoss = environment.loop.now
        // A stream that was read from is asked for again.
        let lost = LostExchange(
            method: request.method, progress: failure.progress, isReusedConnection: isOneOfSeveral,
            isBodyReplayable: true, attempts: attempts,
            lossesWhileServing: lossesWhileServing + (failure.progress == .sent && isServing ? 1 : 0),
            refusals: refusals + 1, isServing: isServing)
        // A new connection that is lost was the server's doing, and the next would fare no better; but a request that it
        // has not looked at fares well (CONN-4), and one that it never got no worse than the first time.
        let wasNotSeen = failure.progress == .refused || failure.progress == .unsent
        guard !hasHead, isOneOfSeveral || wasNotSeen, !isBound, failure.error.isConnectionLoss else {
            return end { $0.exchangeFailed(failure.error) }
        }
        let decision = RetryRules.decide(lost, limits: environment.loop.limits)
        if case .fail = decision { return end { $0.exchangeFailed(failure.error) } }
        if !wasNotSeen { loss = failure.error }
        if failure.progress == .refused || wasNotSeen && isServing {
            // It was no try.
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

    /// Asks the origin's own server after one that serves another origin, or is said to be one more of this, has declined
    /// (CONN-3). Once; false if that cannot be, or was done. Whoever comes later is spared it.
    private func goElsewhere() -> Bool {
        guard let load, let connection, connection.isElsewhere else { return false }
        connection.avoidConnection()
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
        // Another idle connection may be as stale as this one was.
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

    /// Ends the stage of a load that is suspended, which sends its request again when it goes on (T-2).
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

extension ProxyRoute {
    /// Whether a request for a URL can be sent that way: one for FTP to nobody but a proxy that loads it.
    fileprivate func mayCarry(_ url: HTTPURL) -> Bool {
        guard url.scheme == .ftp else { return true }
        if case .through(let proxy) = self { return proxy.forwards }
        return false
    }
}
