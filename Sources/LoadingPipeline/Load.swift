internal import FoundationEssentials
package import LoadingConnections
package import LoadingEvents
internal import LoadingProtocols
package import LoadingSemantics
package import LoadingTransport

/// The life of one task in the engine, from `start` to exactly one end. Confined to its loop.
///
/// The stages, in the order a request passes them; a response passes them upwards:
///
///     ConnectivityStage   wait for a route when asked to
///     RedirectStage       follow, ask the client, count
///     TransportSecurityStage  go to https where that has to be, or not at all
///     AuthenticationStage say who the user is when a server or proxy asks, or unasked where it is known
///     ClientQuestion      attach cookies, and take those of responses
///     CacheStage          serve what is stored, have it confirmed, keep what comes
///     BodyStage           have the body ready, once more when it goes out again; a stream when there is a connection
///     ResumptionStage     go on with a download that stopped
///     MultipartStage      tell each part of a body that has several
///     UploadResumptionStage  go on with an upload that stopped
///     DecodingStage       gzip, deflate, br, zstd
///     MediaTypeSniffing   find the type of a response that does not say it
///     ExchangeStage       a connection from the pool, one request, one response
///
/// **Flow.** Bytes go to the client only while it wants them: not while an answer of it is outstanding, not while it is
/// full, not while the load is suspended. Otherwise what has been read already is put by: one buffer, and then the connection
/// is not read; or, where others share the connection, what the window of the stream allows, which is not given back.
///
/// No access to what is stored here lasts while the client or anybody else is called who may come back, so exclusive access
/// is not checked: that would be a twelfth of what a small request costs.
package final class Load: SchemeLoad, LoopTimerTarget {
    let environment: LoadingEnvironment
    package let log: EventLog?
    /// The request that is being fetched; after a redirect not the first one.
    @exclusivity(unchecked) package internal(set) var request: LoadRequest
    /// Held until the end.
    @exclusivity(unchecked) private(set) var client: (any LoadClient)?

    var connectivity = ConnectivityStage()
    @exclusivity(unchecked) var redirect = RedirectStage()
    /// For servers, for proxies that load requests themselves, and for those that make tunnels. Each is made when there is
    /// something to say, or to find out.
    @exclusivity(unchecked) var serverAuthenticator: Authenticator?
    var forwardingAuthenticator: Authenticator?
    var tunnelAuthentication: TunnelAuthentication?
    /// The proxy that what the caller has said himself is for.
    var confidant: AuthenticationPeer?
    /// The value of the `Cookie` field.
    @exclusivity(unchecked) var cookies = ClientQuestion<String?>()
    @exclusivity(unchecked) var cache = CacheStage()
    /// Until the client has decided about what is to be kept.
    @exclusivity(unchecked) var isKeeping = false
    let supply = BodyStage()
    @exclusivity(unchecked) var resumption: ResumptionStage?
    /// While a body comes in parts.
    @exclusivity(unchecked) var parts: MultipartStage?
    /// The body had parts, or should have had.
    @exclusivity(unchecked) var partsAreOver = false
    @exclusivity(unchecked) var uploading: UploadResumptionStage?
    @exclusivity(unchecked) var decoding = DecodingStage()
    /// While it is not known which way leads to the server.
    @exclusivity(unchecked) var search: ProxySearch?
    @exclusivity(unchecked) var exchange: ExchangeStage?
    /// Kept for the next step of a conversation that proves it to be the user's.
    @exclusivity(unchecked) var heldConnection: HeldConnection?
    /// By which way the last response has come that may have asked.
    @exclusivity(unchecked) var challengeWay: ProxyRoute.Way?
    /// By which way the server was reached with which the next step of a conversation is made. A proxy that stands in for it might
    /// send the requests of others over the connection that is proved to be the user's (RFC 4559 §6).
    @exclusivity(unchecked) var conversationWay: ProxyRoute.Way?

    @exclusivity(unchecked) var state = State.waitingToStart
    /// The response whose body is being read, once its head is here.
    @exclusivity(unchecked) var response: LoadResponse?
    @exclusivity(unchecked) var isSuspended = false
    @exclusivity(unchecked) var isFull = false
    @exclusivity(unchecked) var outstanding = Outstanding.nothing
    /// Bytes that were read before the flow stopped, still coded.
    @exclusivity(unchecked) var backlog = BodyCollector()
    @exclusivity(unchecked) var bodyEnd: BodyEnd?

    let originalURL: String
    @exclusivity(unchecked) var destination: BodyDestination
    @exclusivity(unchecked) var collector: BodyCollector?
    /// What was collected, once it is complete.
    @exclusivity(unchecked) var whole: Data?
    /// From the moment that there is a body to write.
    @exclusivity(unchecked) var writer: FileWriter?
    @exclusivity(unchecked) var isClosingFile = false
    @exclusivity(unchecked) var buffer: UnsafeMutableRawPointer?
    @exclusivity(unchecked) var deliveredBytes: Int64 = 0
    /// What the body took on the wire, once it is complete.
    @exclusivity(unchecked) var wireBytes: Int64 = 0

    let timer = LoopTimer()
    @exclusivity(unchecked) var lastActivity: Int64 = 0
    /// When the load began; later by as much as it was suspended, for its clocks stand still meanwhile (CONN-16).
    @exclusivity(unchecked) var startTime: Int64 = 0
    @exclusivity(unchecked) var suspensionTime: Int64 = 0

    enum State {
        case waitingToStart
        case waitingForConnectivity
        /// In the pool's line, connecting, sending or receiving.
        case exchanging
        /// The error is known, and the file with what came before it is being closed.
        case failing(LoadError)
        case ended
    }

    enum Outstanding {
        case nothing
        /// Until the end of the turn, for the start of the body, which tells the type of the response.
        case startOfBody
        case response
        case redirect(LoadRequest)
        /// Until the client has said who the user is, and the way is free for saying so.
        case challenge
        /// Until the client has said whether the upload may go on elsewhere, whose connection was lost meanwhile.
        case uploadMove(LoadError)
    }

    /// How the body ended, kept while what came before it has not been delivered.
    enum BodyEnd {
        case complete
        case failed(LoadError)
    }

    package init(
        _ request: consuming LoadRequest, in environment: LoadingEnvironment, destination: BodyDestination,
        log: EventLog?,
        client: any LoadClient
    ) {
        originalURL = request.urlText
        self.request = request
        self.environment = environment
        self.log = log
        self.client = client
        self.destination = destination
        if case .stopped(let download) = destination { resumption = ResumptionStage(download, &self.request) }
    }

    deinit {
        if let buffer { ReadBuffers.giveBack(buffer) }
    }

    // MARK: From the client

    package func start(_ reason: LoadEvent.FetchReason) {
        guard case .waitingToStart = state else { return }
        startTime = environment.loop.now
        record(.fetchStarted(reason))
        do throws(LoadError) {
            if let first = try uploading?.start() { request = first }
        } catch {
            return end(error)
        }
        fetch()
    }

    /// Stops sending, receiving and the clocks (T-2).
    package func suspend() {
        guard !isSuspended, !hasEnded else { return }
        isSuspended = true
        suspensionTime = environment.loop.now
        environment.loop.disarm(timer)
        search?.cancel()
        search = nil
        if let exchange, !exchange.hasConnection {
            exchange.cancel()
            self.exchange = nil
        }
        exchange?.setSuspended(true)
        applyFlow()
    }

    package func resume() {
        guard isSuspended, !hasEnded else { return }
        isSuspended = false
        lastActivity = environment.loop.now
        startTime += lastActivity - suspensionTime
        armTimer()
        if case .exchanging = state, exchange == nil, bodyEnd == nil, cache.served == nil, case .nothing = outstanding {
            beginExchange()
        } else {
            exchange?.setSuspended(false)
            if case .startOfBody = outstanding { deliverResponse(startingWith: backlog.start(most: Self.lookAhead)) }
            flow()
        }
    }

    /// Ends the load with `error`, unless it has ended.
    package func cancel(_ error: LoadError) { end(error) }

    /// From now on another client is told.
    package func handOver(to client: any LoadClient) {
        if !hasEnded { self.client = client }
    }

    package func abandon() {
        guard !hasEnded else { return }
        dropExchange()
        stop()
        writer?.discard()
        writer = nil
        state = .ended
        client = nil
    }

    /// Gives the connection away, from the end of the response's head on, and ends without a word. Nil, and nothing has
    /// changed, when the connection has gone another way.
    package func giveConnectionAway() -> HandedConnection? {
        guard case .response = outstanding, !hasEnded, let handed = exchange?.giveConnectionAway() else { return nil }
        exchange = nil
        stop()
        state = .ended
        client = nil
        return handed
    }

    /// The client takes more after it said that it had enough.
    package func resumeReading() {
        guard isFull else { return }
        isFull = false
        lastActivity = environment.loop.now
        flow()
    }

    /// The client lets the response through, and may have its body go elsewhere than it said at first.
    package func answerResponse(_ destination: BodyDestination?) {
        guard case .response = outstanding, !hasEnded else { return }
        outstanding = .nothing
        if let destination {
            self.destination = destination
            // What goes to a file is not kept (CACHE-2).
            stopGathering()
        }
        openDestination()
        lastActivity = environment.loop.now
        exchange?.readRest()
        flow()
    }

    /// What the client makes of a redirect: follow this request, or nil to take the redirect itself as the response.
    package func answerRedirect(_ next: LoadRequest?) {
        guard case .redirect(let proposed) = outstanding, !hasEnded else { return }
        outstanding = .nothing
        lastActivity = environment.loop.now
        guard var next else { return deliverResponse() }
        // The client knows the address without its user.
        if next.urlText == proposed.urlText { next.redirectedUser = proposed.redirectedUser }
        follow(next)
    }

    /// Who waits for a connection moves to the place that the priority gives him (T-19).
    package func setPriority(_ priority: Float) {
        request.priority = priority
        exchange?.setPriority(priority)
    }

    // MARK: Fetching

    var hasEnded: Bool {
        switch state {
        case .failing, .ended: true
        case .waitingToStart, .waitingForConnectivity, .exchanging: false
        }
    }

    func record(_ kind: LoadEvent.Kind) {
        if let log { log.record(kind, at: EventLog.now) }
    }

    func beginFetch(_ reason: LoadEvent.FetchReason) {
        record(.fetchStarted(reason))
        fetch()
    }

    func fetch() {
        state = .exchanging
        lastActivity = environment.loop.now
        response = nil
        parts = nil
        partsAreOver = false
        bodyEnd = nil
        backlog = BodyCollector()
        wireBytes = 0
        cookies = ClientQuestion()
        cache.begin()
        if environment.transportSecurity.upgrade(&request) {
            // It was held for a step of a conversation in the clear, which ends here.
            letGoOfHeldConnection()
            if uploading?.isFollowUp != true {
                uploading?.isUpgraded(to: request)
                client?.load(self, isUpgradedTo: request.urlText)
            }
        }
        log?.tellTrace(.request(method: request.method, url: request.urlText))
        do { try environment.transportSecurity.check(request.url, request.urlText) } catch { return end(error) }
        if request.waitsForConnectivity { connectivity.begin(on: environment.loop) }
        armTimer()
        if !isSuspended { beginExchange() }
    }

    /// Goes on with a request that has waited for an answer of the client's.
    func goOnWithRequest() {
        guard !hasEnded else { return }
        lastActivity = environment.loop.now
        guard case .exchanging = state, !isSuspended, exchange == nil, bodyEnd == nil, case .nothing = outstanding
        else { return }
        beginExchange()
    }

    /// Has what is left of the response pass by.
    func dropExchange() {
        exchange?.drain()
        exchange = nil
    }

    /// The exchange has come to nothing while the load was suspended: `resume` begins another.
    func exchangeWaits() { exchange = nil }

    func beginExchange() {
        guard search == nil, hasCookies(), knowsStored() else { return }
        if request.body.isNone { return beginExchange(with: .none) }
        guard request.body.isLasting else {
            do throws(LoadError) { try announceStream() } catch { return end(error) }
            // The exchange asks for it when it has a connection.
            return beginExchange(with: .none)
        }
        withBody { [weak self] body in
            guard let self, exchange == nil, search == nil, !isSuspended else { return }
            beginExchange(with: body)
        }
    }

    private func beginExchange(with body: RequestBody) {
        var sent = ExchangeRequest(request, body: body, defaults: environment)
        addCookies(to: &sent)
        mark(&sent)
        guard passesCache(&sent) else { return }
        // A proxy that loads the request finds the host, and proves nothing to us.
        if request.service.requiresProvedNames, !NameResolver.needsNoNameServer(request.url.host) {
            return end(.cannotFindHost)
        }
        if let way = heldConnection?.way ?? conversationWay {
            conversationWay = nil
            return beginExchange(sent, by: ProxyRoute([way]))
        }
        guard let proxies = environment.proxies else { return beginExchange(sent, by: .direct) }
        if let route = proxies.settledRoute(to: request.url) { return beginExchange(sent, by: route) }
        search(by: proxies, for: sent)
    }

    private func search(by proxies: ProxyRoutes, for sent: ExchangeRequest) {
        search = proxies.find(request.url) { [weak self] route in
            guard let self else { return }
            search = nil
            lastActivity = environment.loop.now
            beginExchange(sent, by: route)
        }
    }

    private func beginExchange(_ sent: ExchangeRequest, by route: ProxyRoute) {
        let exchange = ExchangeStage(
            sent, to: request.url, by: route, identity: serverAuthenticator?.identity(for: .request(request)) ?? 0,
            priority: request.priority, for: self)
        self.exchange = exchange
        if let heldConnection {
            self.heldConnection = nil
            exchange.start(on: heldConnection.carrier, isBound: !heldConnection.isBeginning)
        } else {
            exchange.start()
        }
    }

    // MARK: Time

    func exchangeIsActive() { lastActivity = environment.loop.now }

    func armTimer() {
        guard !isSuspended else { return }
        environment.loop.arm(timer, at: nextDeadline, for: self)
    }

    var nextDeadline: Int64 {
        let loop = environment.loop
        let shortest = loop.limits.shortestTimerPeriod
        var end = startTime.addingSeconds(request.totalTimeout)
        // What a server acknowledges of a body is seen by looking.
        if !request.body.isNone {
            end = min(
                end, loop.now.addingSeconds(max(request.idleTimeout / loop.limits.progressChecksPerTimeout, shortest)))
        }
        guard idleTimeIsRunning else {
            // A look now and then; a request that allows no time at all must not have the loop do nothing else.
            return min(end, loop.now.addingSeconds(max(request.idleTimeout, shortest)))
        }
        return min(end, lastActivity.addingSeconds(request.idleTimeout))
    }

    /// Silence counts while something of the network's is awaited: not in the line for a connection (CONN-24), not
    /// while waiting for a route (CONN-13), not while the client holds up the flow.
    var idleTimeIsRunning: Bool {
        guard case .exchanging = state, bodyEnd == nil, isFlowing, let exchange else { return false }
        return exchange.isActive
    }

    package func timerFired(_ timer: LoopTimer) {
        let now = environment.loop.now
        if !request.body.isNone, idleTimeIsRunning, exchange?.hasProgressed() == true { lastActivity = now }
        let isOver = now >= startTime.addingSeconds(request.totalTimeout)
        if isOver || idleTimeIsRunning && now >= lastActivity.addingSeconds(request.idleTimeout) {
            return end(exchange?.silence ?? .timedOut)
        }
        armTimer()
    }

    // MARK: The end

    func end(_ error: LoadError?) {
        guard !hasEnded else { return }
        stop()
        if let error, let writer {
            // What has come may be gone on with later.
            state = .failing(error)
            writer.giveUp()
            if !isClosingFile { writer.close() }
            return
        }
        let body = whole ?? collector?.take()
        whole = nil
        collector = nil
        if error == nil {
            tellEnd(nil, body.map { .whole($0) } ?? .nothing)
        } else if let stopped = resumption?.download {
            // Nothing has been added to what there was.
            tellEnd(error, .stopped(path: stopped.path, stopped.point))
        } else {
            tellEnd(error, uploading?.stopped.map { .unsent($0) } ?? .nothing)
        }
    }

    /// Lets go of time and network.
    func stop() {
        environment.loop.disarm(timer)
        connectivity.end()
        supply.cancel()
        uploading?.end(on: environment.loop)
        search?.cancel()
        search = nil
        exchange?.cancel()
        exchange = nil
        letGoOfHeldConnection()
        backlog = BodyCollector()
    }

    func tellEnd(_ error: LoadError?, _ body: LoadedBody) {
        guard let client else { return }
        state = .ended
        self.client = nil
        if let error { record(.failed(code: error.code, decoded: deliveredBytes)) }
        record(.ended)
        client.load(self, didEndWith: error, body: body)
    }
}

extension Int64 {
    /// This time in nanoseconds plus that many seconds; never more than the far future, never less than now.
    func addingSeconds(_ seconds: Double) -> Int64 {
        // Not `<`, so that a NaN means for ever as well.
        guard seconds < 9e9 else { return .max }
        let (sum, overflow) = addingReportingOverflow(Int64(Swift.max(0, seconds) * 1e9))
        return overflow ? .max : sum
    }
}
