internal import FoundationEssentials
package import LoadingConnections
package import LoadingEvents
internal import LoadingProtocols
package import LoadingSemantics
package import LoadingTransport

/// The load of one HTTP task in the engine, from `start` to exactly one end. Confined to its loop.
///
/// `LoadMachine` has the current stage; `LoadMachine.Stage` lists the stages in order. `advance` runs the stages that
/// prepare a request, `HTTPLoad+Response` handles the events of the exchange, and `BodySink` delivers the body to the
/// client.
///
/// No access to a stored property lasts while the client, or other code that may call back, is called. Exclusive access
/// is therefore not checked at run time: the checks would be a twelfth of the cost of a small request.
package final class HTTPLoad: Load, LoopTimerTarget {
    package let environment: LoadingEnvironment
    package let log: EventLog?
    /// The request that is being loaded. After a redirect it is not the first one.
    package internal(set) var request: LoadRequest {
        get { currentRequest }
        _modify { yield &currentRequest }
    }
    /// A stored property of its own, because other modules would check exclusive access to `request`.
    @exclusivity(unchecked) private var currentRequest: LoadRequest
    let originalURL: String
    /// Retained until the end.
    package private(set) var client: (any LoadClient)? {
        get { currentClient }
        set { currentClient = newValue }
    }
    @exclusivity(unchecked) private var currentClient: (any LoadClient)?

    @exclusivity(unchecked) var machine = LoadMachine()
    @exclusivity(unchecked) var clock = LoadClock()
    let timer = LoopTimer()

    // MARK: The request

    @exclusivity(unchecked) var connectivity = ConnectivityStage()
    @exclusivity(unchecked) var redirect = RedirectStage()
    /// Authentication at servers, at proxies that load requests themselves, and at proxies that open tunnels. Each is
    /// created when credentials are to be sent or a challenge arrives.
    @exclusivity(unchecked) var serverAuthenticator: Authenticator?
    var forwardingAuthenticator: Authenticator?
    var tunnelAuthentication: TunnelAuthentication?
    /// The proxy to which the caller's own `Proxy-Authorization` applies.
    var callersProxy: AuthenticationPeer?
    var credentialLookup: PendingLookup<ProposedCredential?>?
    /// The pending lookup in a store before the request is sent.
    @exclusivity(unchecked) var storeLookup: (any WithdrawableLookup)?
    /// Ends the wait for a stored response.
    @exclusivity(unchecked) var lookupDeadline: (timer: LoopTimer, expire: () -> Void)?
    /// The value of the `Cookie` field; nil without cookies.
    @exclusivity(unchecked) var cookies: String?
    @exclusivity(unchecked) var cache = CacheStage()
    /// Set when a body has to be prepared.
    @exclusivity(unchecked) var bodyStage: BodyStage?
    @exclusivity(unchecked) var resumption: DownloadResumptionStage?
    @exclusivity(unchecked) var uploading: UploadResumptionStage?
    /// Set if the load is the opening handshake of a WebSocket; and the handshake of the current request.
    @exclusivity(unchecked) package var webSocketOffer: WebSocketOffer?
    var handshake: WebSocketHandshake?
    /// The request to send, until its body and route are known.
    @exclusivity(unchecked) var prepared: ExchangeRequest?
    /// Set while the routes to the server are being determined.
    @exclusivity(unchecked) var search: ProxySearch?
    @exclusivity(unchecked) var route: ProxyRouteList?
    @exclusivity(unchecked) var exchange: ExchangeStage?
    /// The connection kept for the next step of its authentication.
    @exclusivity(unchecked) var heldConnection: HeldConnection?
    /// The route of the last response that may be a challenge.
    @exclusivity(unchecked) var challengeRoute: ProxyRoute?
    /// The route to the server for the next step of the authentication. A fallback proxy might send other users'
    /// requests over the authenticated connection (RFC 4559 §6).
    @exclusivity(unchecked) var authenticationRoute: ProxyRoute?

    // MARK: The response

    /// The response whose body is being read; set when its head arrives.
    @exclusivity(unchecked) var response: LoadResponse?
    /// The redirected request, while the client is asked about it.
    var proposal: LoadRequest?
    /// The error that ended the upload's connection, while the client is asked whether the upload may resume elsewhere.
    var uploadLoss: LoadError?
    let sink: BodySink
    /// The body had parts, or was expected to have parts.
    @exclusivity(unchecked) var partsAreOver = false
    /// The collected body, once it is complete.
    @exclusivity(unchecked) var collectedBody: Data?
    /// The size of the body on the wire, in bytes, once it is complete.
    @exclusivity(unchecked) var wireBytes: Int64 = 0

    package init(
        _ request: consuming LoadRequest, in environment: LoadingEnvironment, destination: BodyDestination,
        log: EventLog?,
        client: any LoadClient
    ) {
        originalURL = request.urlText
        currentRequest = consume request
        self.environment = environment
        self.log = log
        currentClient = client
        sink = BodySink(destination, on: environment.loop)
        if case .stopped(let download) = destination { resumption = DownloadResumptionStage(download, &self.request) }
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
            log?.record(.fetchStarted(reason))
            return end(error)
        }
        beginFetch(reason, isFirst: true)
    }

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
        if exchange == nil { giveUpExchange() }
        exchange?.setSuspended(true)
        applyFlow()
    }

    /// The request was not sent. It is prepared anew.
    func giveUpExchange() {
        guard machine.receive(.givesUpExchange) else { return }
        cookies = nil
        cache.begin()
    }

    package func resume() {
        environment.loop.checkConfinement(of: "A load")
        guard machine.receive(.resume) else { return }
        clock.resume(at: environment.loop.now)
        armTimer()
        exchange?.setSuspended(false)
        deliverAwaitedResponse()
        flow()
        advanceAfterWait()
    }

    package func cancel(_ error: LoadError) {
        environment.loop.checkConfinement(of: "A load")
        end(error)
    }

    package func handOver(to client: any LoadClient) {
        environment.loop.checkConfinement(of: "A load")
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

    /// Detaches the connection, which then starts at the first byte after the response's head, and ends the load
    /// without a callback. Returns nil and changes nothing if the connection is no longer available.
    package func detachConnection() -> DetachedConnection? { detach { $0.detachConnection() } }

    /// Detaches the stream of an extended CONNECT that was answered, and ends the load without a callback.
    func detachTunnel() -> WebSocketTunnel? { detach { $0.detachTunnel() } }

    private func detach<Detached>(_ detach: (ExchangeStage) -> Detached?) -> Detached? {
        guard machine.stage == .response, let exchange, let detached = detach(exchange) else { return nil }
        self.exchange = nil
        stop()
        forgetClient()
        return detached
    }

    package func resumeReading() {
        environment.loop.checkConfinement(of: "A load")
        guard sink.resumeReading() else { return }
        noteActivity()
        flow()
    }

    /// A request that waits for a connection moves to the queue position of its new priority (T-19).
    package func setPriority(_ priority: Float) {
        environment.loop.checkConfinement(of: "A load")
        request.priority = priority
        exchange?.setPriority(priority)
    }

    // MARK: Stages

    /// Sends the request again, or sends another one.
    func fetch(_ reason: LoadEvent.FetchReason) {
        if machine.receive(.fetchesAgain) { beginFetch(reason) }
    }

    /// Called when the machine is at the first stage of a request.
    ///
    /// - Parameter isFirst: Whether there is no earlier response whose state has to be dropped.
    func beginFetch(_ reason: LoadEvent.FetchReason, isFirst: Bool = false) {
        log?.record(.fetchStarted(reason))
        noteActivity()
        if !isFirst { forgetResponse() }
        if request.waitsForConnectivity { connectivity.begin(on: environment.loop) }
        armTimer()
        advance()
    }

    /// Drops the state of the previous response.
    func forgetResponse() {
        response = nil
        partsAreOver = false
        sink.beginResponse()
        wireBytes = 0
        cookies = nil
        cache.begin()
    }

    /// Runs the stages that prepare the request, until one of them waits.
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
            // No other stage prepares a request.
            default: return
            }
        }
    }

    /// Runs the stages after one that had to wait.
    func advanceAfterWait() {
        if mustBecomeSecure, machine.receive(.becomesSecure) {
            cookies = nil
            cache.begin()
        }
        advance()
    }

    /// Whether the host has become one that requires secure connections (RFC 6797 §8.3).
    private var mustBecomeSecure: Bool {
        var upgraded = request
        return environment.transportSecurity.upgrade(&upgraded)
    }

    /// Whether the request of the exchange, which is not being sent, has to be prepared anew for that reason.
    var exchangeMustBecomeSecure: Bool { machine.stage == .exchange && mustBecomeSecure }

    /// Completes a stage that had to wait. False if the load is no longer at this stage.
    func passes(_ stage: LoadMachine.Stage) -> Bool {
        guard machine.receive(.passed(stage)) else { return false }
        noteActivity()
        return true
    }

    // MARK: Time

    func noteActivity() { clock.noteActivity(at: environment.loop.now) }

    func armTimer() {
        guard !machine.isSuspended else { return }
        environment.loop.arm(timer, at: nextCheck, for: self)
    }

    private var nextCheck: Int64 {
        let loop = environment.loop
        return clock.nextCheck(
            at: loop.now, idle: request.idleTimeout, total: request.totalTimeout, idleTimeRuns: idleTimeIsRunning,
            // The progress of a body, as the server acknowledges it, is polled.
            checks: request.body.isNone ? 1 : loop.limits.progressChecksPerTimeout,
            shortest: loop.limits.shortestTimerPeriod)
    }

    /// The idle time runs only while the load waits for the network. It does not run in the queue for a connection
    /// (CONN-24), during the wait for a route (CONN-13), or while the client stops the flow.
    private var idleTimeIsRunning: Bool {
        machine.awaitsNetwork && sink.isFlowing && exchange?.isActive == true
    }

    package func timerFired(_ timer: LoopTimer) {
        if timer === lookupDeadline?.timer { return lookupDeadline?.expire() ?? () }
        let now = environment.loop.now
        if idleTimeIsRunning {
            if !request.body.isNone, exchange?.hasProgressed() == true { noteActivity() }
            if let arrival = exchange?.lastArrival { clock.noteArrival(at: arrival) }
        }
        let idle = idleTimeIsRunning ? request.idleTimeout : nil
        if clock.isOver(at: now, idle: idle, total: request.totalTimeout) {
            return end(exchange?.timeoutError ?? .timedOut)
        }
        armTimer()
    }

    // MARK: The end

    package var hasEnded: Bool { machine.hasEnded }

    func end(_ error: LoadError?) {
        guard !machine.hasEnded else { return }
        stop()
        if let error, sink.writer != nil {
            // Another download may resume from the bytes received so far.
            let isClosing = machine.stage == .closingFile
            machine.apply(.fails(error))
            return sink.giveUpFile(isClosing: isClosing)
        }
        let body = collectedBody.take() ?? sink.takeCollected()
        if error == nil {
            reportEnd(nil, body.map { .whole($0) } ?? .nothing)
        } else if let stopped = resumption?.download {
            // Nothing was appended to the existing file.
            reportEnd(error, .stopped(path: stopped.path, stopped.point))
        } else {
            reportEnd(error, uploading?.stopped.map { .unsent($0) } ?? .nothing)
        }
    }

    /// Releases the timer and the connection, and cancels everything pending.
    func stop() {
        environment.loop.disarm(timer)
        connectivity.end()
        bodyStage?.cancel()
        uploading?.end(on: environment.loop)
        search?.cancel()
        search = nil
        exchange?.cancel()
        exchange = nil
        releaseHeldConnection()
        credentialLookup?.withdraw()
        storeLookup?.withdraw()
        dropLookupDeadline()
        sink.dropBacklog()
    }

    func reportEnd(_ error: LoadError?, _ body: LoadedBody) {
        guard let client else { return }
        forgetClient()
        if let error { log?.record(.failed(code: error.code, decoded: sink.deliveredBytes)) }
        log?.record(.ended)
        client.load(self, didEndWith: error, body: body)
    }

    private func forgetClient() {
        machine.apply(.ends)
        client = nil
        sink.owner = nil
    }
}
