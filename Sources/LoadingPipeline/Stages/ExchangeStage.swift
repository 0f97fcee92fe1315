internal import LoadingConnections
internal import LoadingEvents
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

/// The last stage: a connection from the pool, one request on it, one response from it, and a second try when the
/// connection died before the server can have seen the request (CONN-10). Confined to the load's loop.
final class ExchangeStage: ConnectionTaker, ExchangeObserver {
    /// Cleared when the stage is done, which also breaks the cycle between the two.
    @exclusivity(unchecked) private var load: Load?
    private let environment: LoadingEnvironment
    @exclusivity(unchecked) private var request: ExchangeRequest
    private let url: HTTPURL
    private let identity: UInt64
    /// How the server is gone to; nil if there is no way.
    @exclusivity(unchecked) private(set) var way: ProxyRoute.Way?
    /// Where there are several.
    @exclusivity(unchecked) private var ways: ProxyWays?
    private let route: ProxyRoute
    @exclusivity(unchecked) private var origin: Origin
    private var priority: Float
    /// Whether it may go out a second time should its connection turn out dead (CONN-10).
    private let isRepeatable: Bool
    private let assumesHTTP3: Bool
    private var wish: ConnectionRequest?
    /// What the client is asked about the connection that is being made.
    private var question: SecurityQuestion?
    @exclusivity(unchecked) private var connection: (any ExchangeCarrier)?
    private var isReused = false
    /// Whether the request says something that only this connection understands.
    private var isBound = false
    private var attempts = 0
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
        _ request: consuming ExchangeRequest, to url: HTTPURL, by route: ProxyRoute, identity: UInt64, priority: Float,
        for load: Load
    ) {
        self.url = url
        self.identity = identity
        self.route = route
        let all = url.scheme == .ftp ? route.ways.filter { $0.mayCarry(url) } : route.ways
        ways = ProxyWays(
            all, to: ProxyDestination(url), in: load.environment.proxies, idleTimeout: load.request.idleTimeout)
        way = ways?.current ?? all.first
        origin = Self.origin(of: url, identity, request.fields, by: way, for: load)
        self.priority = priority
        isRepeatable = load.request.body.isLasting && RequestMethod.isIdempotent(request.method)
        self.request = request
        assumesHTTP3 = load.request.assumesHTTP3
        self.load = load
        environment = load.environment
        log = load.log
        ways?.onSilence = { [weak self] in self?.wayIsSilent() }
    }

    /// To what a request needs a connection that goes a way; without one nobody asks for it.
    private static func origin(
        of url: HTTPURL, _ identity: UInt64, _ fields: HTTPFields, by way: ProxyRoute.Way?, for load: Load
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
            let failure = ConnectionFailure(route.failure(url.scheme.isSecure ? .tunnel : .request))
            let tell = LoopBox({ [weak self] in self?.end { $0.exchangeFoundNoWay(failure, after: nil) } ?? () })
            return environment.loop.post { tell.value() }
        }
        attempts += 1
        sentBodyBytes = 0
        sentWireBytes = 0
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
            request.method == "GET" || request.method == "HEAD", case .none = request.body,
            !request.fields.contains("Authorization")
        else { return nil }
        return request
    }

    /// Sends the request over a connection that was held for it, and leads the stage's only way.
    func start(on connection: any ExchangeCarrier) {
        attempts += 1
        isBound = true
        took(connection, isReused: true, events: [])
    }

    /// Keeps the connection for another exchange of the same conversation, whose it is from now on.
    func hold() -> HeldConnection? {
        guard let connection, let way else { return nil }
        connection.hold()
        return HeldConnection(carrier: connection, way: way)
    }

    /// Ends the stage; the load hears nothing more from it.
    func cancel() {
        load = nil
        ways?.rest()
        if let wish {
            self.wish = nil
            append(wish.eventsSoFar)
            environment.pool.withdraw(wish)
        }
        recordBreak()
        connection?.cancel()
        connection = nil
    }

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

    func setSuspended(_ suspended: Bool) { connection?.setSuspended(suspended) }

    /// Whether the default evaluation trusts the server at the other end.
    var isConnectionTrusted: Bool { connection?.isTrusted ?? false }

    var hasConnection: Bool { connection != nil }

    /// Whether something of the network's is awaited: not so in the line for a connection (CONN-24), nor while the client
    /// is asked about it.
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
    }

    private func record(_ kind: LoadEvent.Kind) {
        if let log { log.record(kind, at: EventLog.now) }
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
        self.connection = connection
        self.isReused = isReused
        load.exchangeIsActive()
        if log != nil {
            append(events)
            record(.connectionAssigned(connection.facts(isReused: isReused)))
            record(.requestStarted)
        }
        if priority != 0.5 { connection.setPriority(priority) }
        connection.start(forwarded() ?? request, observer: self)
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

    private func goNextWay(for load: Load) {
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
            request.fields.append(AuthenticationAsker.proxy.credentialField, value)
        }
        return request
    }

    /// The proxy that loads the request itself, if one does.
    var forwarder: ProxyServer? { if case .forwarding(let proxy, _) = origin.passage { proxy } else { nil } }

    var tunnelSpeaker: (any TunnelSpeaker)? { load?.tunnelSpeaker }

    private func end(_ tell: (Load) -> Void) {
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
        load?.exchangeReceived(informational: head)
    }

    func exchangeReceived(head: ResponseHead, body: BodyLength) {
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
        let isOneOfSeveral = isReused || failure.hasOtherWay
        // A stream that was read from is asked for again.
        let lost = LostExchange(
            method: request.method, progress: failure.progress, isReusedConnection: isOneOfSeveral,
            isBodyReplayable: true, attempts: attempts)
        // A new connection that is lost was the server's doing, and the next would fare no better; but a request that it
        // has not looked at fares well (CONN-4), and one that it never got no worse than the first time.
        let wasNotSeen = failure.progress == .refused || failure.progress == .unsent
        guard !hasHead, isOneOfSeveral || wasNotSeen, !isBound, failure.error.isConnectionLoss,
            case .retry = RetryRules.decide(lost)
        else {
            return end { $0.exchangeFailed(failure.error) }
        }
        if !wasNotSeen { loss = failure.error }
        if failure.requiresHTTP1 { environment.pool.requireHTTP1(of: &origin) }
        startAgain(for: load)
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

    private func startAgain(for load: Load) {
        record(.fetchStarted(.retry))
        load.exchangeIsActive()
        if waitsWhileSuspended() { return }
        // Another idle connection may be as stale as this one was.
        if isBodyWhole { return start(onNewConnection: true) }
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

extension ProxyRoute.Way {
    /// Whether a request for a URL can be sent that way: one for FTP to nobody but a proxy that loads it.
    fileprivate func mayCarry(_ url: HTTPURL) -> Bool {
        guard url.scheme == .ftp else { return true }
        if case .through(let proxy) = self { return proxy.forwards }
        return false
    }
}
