internal import FoundationEssentials
package import LoadingConnections
package import LoadingEvents
internal import LoadingProtocols
package import LoadingSemantics
package import LoadingTransport

/// The life of one HTTP task in the engine, from `start` to exactly one end. Confined to its loop.
///
/// `LoadMachine` says at which stage it is; its `Stage` is the list of them, in their order. `advance` runs those that
/// prepare a request, `HTTPLoad+Response` does what the exchange brings, and `BodySink` leads the body to the client.
///
/// No access to a stored property lasts while the client, or other code that may call back, is called. So exclusive access is not
/// checked at run time: that would be a twelfth of the cost of a small request.
package final class HTTPLoad: Load, LoopTimerTarget {
    package let environment: LoadingEnvironment
    package let log: EventLog?
    /// The request that is being fetched; after a redirect not the first one.
    @exclusivity(unchecked) package internal(set) var request: LoadRequest
    let originalURL: String
    /// Held until the end.
    @exclusivity(unchecked) package private(set) var client: (any LoadClient)?

    @exclusivity(unchecked) var machine = LoadMachine()
    @exclusivity(unchecked) var clock = LoadClock()
    let timer = LoopTimer()

    // MARK: The request

    var connectivity = ConnectivityStage()
    @exclusivity(unchecked) var redirect = RedirectStage()
    /// For servers, for proxies that load requests themselves, and for those that make tunnels. Each is made when there is
    /// something to say, or to find out.
    @exclusivity(unchecked) var serverAuthenticator: Authenticator?
    var forwardingAuthenticator: Authenticator?
    var tunnelAuthentication: TunnelAuthentication?
    /// The proxy that the caller's own authorization is for.
    var confidant: AuthenticationPeer?
    var credentialLookup: PendingLookup<ProposedCredential?>?
    /// What the stores are asked for before the request goes out.
    @exclusivity(unchecked) var storeLookup: (any WithdrawableLookup)?
    /// The value of the `Cookie` field; nil without cookies.
    @exclusivity(unchecked) var cookies: String?
    @exclusivity(unchecked) var cache = CacheStage()
    /// Once there is a body to have ready.
    @exclusivity(unchecked) var supply: BodyStage?
    @exclusivity(unchecked) var resumption: ResumptionStage?
    @exclusivity(unchecked) var uploading: UploadResumptionStage?
    /// What goes out, while its body and its way are not known.
    @exclusivity(unchecked) var prepared: ExchangeRequest?
    /// While it is not known which way leads to the server.
    @exclusivity(unchecked) var search: ProxySearch?
    @exclusivity(unchecked) var route: ProxyRouteList?
    @exclusivity(unchecked) var exchange: ExchangeStage?
    /// Kept for the next step of a conversation that proves it to be the user's.
    @exclusivity(unchecked) var heldConnection: HeldConnection?
    /// By which way the last response has come that may have asked.
    @exclusivity(unchecked) var challengeWay: ProxyRoute?
    /// By which way the server was reached with which the next step of a conversation is made. A proxy that stands in for it might
    /// send the requests of others over the connection that is proved to be the user's (RFC 4559 §6).
    @exclusivity(unchecked) var conversationWay: ProxyRoute?

    // MARK: The response

    /// The response whose body is being read, once its head is here.
    @exclusivity(unchecked) var response: LoadResponse?
    /// The request that the client is asked about, while it is asked about a redirect.
    var proposal: LoadRequest?
    /// How the upload's connection was lost, while the client is asked whether it may go on elsewhere.
    var uploadLoss: LoadError?
    let sink: BodySink
    /// The body had parts, or should have had.
    @exclusivity(unchecked) var partsAreOver = false
    /// What was collected, once it is complete.
    @exclusivity(unchecked) var whole: Data?
    /// What the body took on the wire, once it is complete.
    @exclusivity(unchecked) var wireBytes: Int64 = 0

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
        sink = BodySink(destination, on: environment.loop)
        if case .stopped(let download) = destination { resumption = ResumptionStage(download, &self.request) }
    }

    // MARK: From the client

    package func start(_ reason: LoadEvent.FetchReason) {
        environment.loop.checkConfinement(of: "A load")
        guard machine.receive(.start) else { return }
        sink.owner = self
        clock.begin(at: environment.loop.now)
        do throws(LoadError) {
            if let first = try uploading?.start() { request = first }
        } catch {
            record(.fetchStarted(reason))
            return end(error)
        }
        beginFetch(reason)
    }

    /// Stops sending, receiving and the clocks (T-2).
    package func suspend() {
        environment.loop.checkConfinement(of: "A load")
        guard machine.receive(.suspend) else { return }
        clock.suspend(at: environment.loop.now)
        environment.loop.disarm(timer)
        search?.cancel()
        search = nil
        if let exchange, !exchange.hasConnection {
            exchange.cancel()
            self.exchange = nil
        }
        if exchange == nil { machine.receive(.givesUpExchange) }
        exchange?.setSuspended(true)
        applyFlow()
    }

    package func resume() {
        environment.loop.checkConfinement(of: "A load")
        guard machine.receive(.resume) else { return }
        clock.resume(at: environment.loop.now)
        armTimer()
        exchange?.setSuspended(false)
        if machine.stage == .mediaType { deliverResponse(startingWith: sink.startOfBacklog(most: Self.lookAhead)) }
        flow()
        advance()
    }

    /// Ends the load with `error`, unless it has ended.
    package func cancel(_ error: LoadError) {
        environment.loop.checkConfinement(of: "A load")
        end(error)
    }

    /// From now on another client is told.
    package func handOver(to client: any LoadClient) {
        if !machine.hasEnded { self.client = client }
    }

    package func abandon() {
        environment.loop.checkConfinement(of: "A load")
        guard !machine.hasEnded else { return }
        dropExchange()
        stop()
        sink.discardFile()
        forgetClient()
    }

    /// Gives the connection away, from the end of the response's head on, and ends without a word. Nil, and nothing has
    /// changed, when the connection has gone another way.
    package func giveConnectionAway() -> DetachedConnection? {
        guard machine.stage == .response, let handed = exchange?.giveConnectionAway() else { return nil }
        exchange = nil
        stop()
        forgetClient()
        return handed
    }

    /// The client takes more after it said that it had enough.
    package func resumeReading() {
        environment.loop.checkConfinement(of: "A load")
        guard sink.resumeReading() else { return }
        noteActivity()
        flow()
    }

    /// A request that waits for a connection moves to the place of its new priority (T-19).
    package func setPriority(_ priority: Float) {
        environment.loop.checkConfinement(of: "A load")
        request.priority = priority
        exchange?.setPriority(priority)
    }

    // MARK: Stages

    /// Makes the request once more, or another one.
    func fetch(_ reason: LoadEvent.FetchReason) {
        if machine.receive(.fetchesAgain) { beginFetch(reason) }
    }

    /// The machine is at the first stage of a request.
    func beginFetch(_ reason: LoadEvent.FetchReason) {
        record(.fetchStarted(reason))
        noteActivity()
        forgetResponse()
        if request.waitsForConnectivity { connectivity.begin(on: environment.loop) }
        armTimer()
        advance()
    }

    /// Forgets what has come of the request before.
    func forgetResponse() {
        response = nil
        partsAreOver = false
        sink.beginResponse()
        wireBytes = 0
        cookies = nil
        cache.begin()
    }

    /// Runs the stages of the request, until one waits for something.
    func advance() {
        while let stage = machine.next() {
            switch stage {
            case .transportSecurity: secureTransport()
            case .cookies: askForCookies()
            case .cacheLookup: lookUpCache()
            case .cacheDecision: decideCache()
            case .requestBody: prepareBody()
            case .proxyResolution: resolveProxies()
            case .exchange: beginExchange()
            // No others prepare a request.
            default: return
            }
        }
    }

    /// A stage that had to wait has done its part. False if the load is no longer there.
    func passes(_ stage: LoadMachine.Stage) -> Bool {
        guard machine.receive(.passed(stage)) else { return false }
        noteActivity()
        return true
    }

    // MARK: Time

    func noteActivity() { clock.noteActivity(at: environment.loop.now) }

    func armTimer() {
        guard !machine.isSuspended else { return }
        environment.loop.arm(timer, at: nextLook, for: self)
    }

    private var nextLook: Int64 {
        let loop = environment.loop
        return clock.nextLook(
            at: loop.now, idle: request.idleTimeout, total: request.totalTimeout, countsSilence: idleTimeIsRunning,
            // What a server acknowledges of a body is seen by looking.
            looks: request.body.isNone ? 1 : loop.limits.progressChecksPerTimeout,
            shortest: loop.limits.shortestTimerPeriod)
    }

    /// Silence counts while something of the network's is awaited: not in the line for a connection (CONN-24), not
    /// while waiting for a route (CONN-13), not while the client holds up the flow.
    private var idleTimeIsRunning: Bool {
        machine.awaitsNetwork && sink.isFlowing && exchange?.isActive == true
    }

    package func timerFired(_ timer: LoopTimer) {
        let now = environment.loop.now
        if !request.body.isNone, idleTimeIsRunning, exchange?.hasProgressed() == true { noteActivity() }
        let idle = idleTimeIsRunning ? request.idleTimeout : nil
        if clock.isOver(at: now, idle: idle, total: request.totalTimeout) { return end(exchange?.silence ?? .timedOut) }
        armTimer()
    }

    // MARK: The end

    package var hasEnded: Bool { machine.hasEnded }

    func record(_ kind: LoadEvent.Kind) {
        if let log { log.record(kind, at: EventLog.now) }
    }

    func end(_ error: LoadError?) {
        guard !machine.hasEnded else { return }
        stop()
        if let error, sink.writer != nil {
            // What has come may be gone on with later.
            let isClosing = machine.stage == .closingFile
            machine.receive(.fails(error))
            return sink.giveUpFile(isClosing: isClosing)
        }
        let body = whole ?? sink.takeCollected()
        whole = nil
        if error == nil {
            tellEnd(nil, body.map { .whole($0) } ?? .nothing)
        } else if let stopped = resumption?.download {
            // Nothing has been added to what there was.
            tellEnd(error, .stopped(path: stopped.path, stopped.point))
        } else {
            tellEnd(error, uploading?.stopped.map { .unsent($0) } ?? .nothing)
        }
    }

    /// Releases the timer, the connection and everything that waits.
    func stop() {
        environment.loop.disarm(timer)
        connectivity.end()
        supply?.cancel()
        uploading?.end(on: environment.loop)
        search?.cancel()
        search = nil
        exchange?.cancel()
        exchange = nil
        letGoOfHeldConnection()
        credentialLookup?.withdraw()
        storeLookup?.withdraw()
        sink.dropBacklog()
    }

    func tellEnd(_ error: LoadError?, _ body: LoadedBody) {
        guard let client else { return }
        forgetClient()
        if let error { record(.failed(code: error.code, decoded: sink.deliveredBytes)) }
        record(.ended)
        client.load(self, didEndWith: error, body: body)
    }

    private func forgetClient() {
        machine.receive(.ends)
        client = nil
        sink.owner = nil
    }
}
