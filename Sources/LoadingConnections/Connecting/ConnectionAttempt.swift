internal import LoadingEvents
internal import LoadingSemantics
internal import LoadingTransport

/// Makes one connection for a pool: over TCP (name resolution, socket, proxy if there is one, TLS), over QUIC, or over
/// the first of both that completes its handshake. Confined to the pool's loop, owned by its origin. Ends with exactly
/// one call of the pool's `succeeded`, `failed` or `gaveUp`, never within `start`, and with none after `cancel`.
///
/// There are two kinds (docs/decisions/0012):
/// - An attempt of a queued request. It counts against the limit per host, and is cancelled if no request
///   needs it.
/// - An upgrade: HTTP/3 for an origin that another version reaches already. One request may wait for it, outside the
///   queue and for a short time. Without one the upgrade continues until its end or until its idle time is over.
final class ConnectionAttempt: ConnectionChallengeDelegate {
    let primaryOrigin: OriginConnections
    let isUpgrade: Bool
    /// Its number among the attempts and connections of the origin.
    var number = 0
    private(set) var request: ConnectionRequest?
    /// Whether requests of others wait for it, or have waited.
    var isShared = false
    /// Whether it has continued without a request. What happened does not describe the next request's wait.
    var wasLeft = false
    let pool: ConnectionPool
    /// When it was started, and the pool's generation at that time.
    let beginning: Int64
    let generation: Int
    /// Whether a challenge was presented.
    private(set) var hasAsked = false
    /// Whether a challenge is open. The connection waits for its answer.
    private(set) var isAsking = false

    // MARK: TCP

    private var connector: TransportConnector?
    private var handshake: SecureHandshake?
    private var handshakeBeginning: Int64 = 0
    /// The addresses of the host's name, without a port; and those that were left because they were silent.
    private var addresses: [SocketAddress] = []
    /// Whether the connection was made before all of them were known.
    private var mayHaveMoreAddresses = false
    private var leftAddresses: Set<SocketAddress> = []
    /// Fires when the handshake has taken `TimeLimits.handshakeSilence`.
    let silenceTimer = LoopTimer()
    /// Whether nothing has arrived on the connection for that time.
    var isSilent: Bool { !silenceTimer.isArmed && handshake?.hasReceived == false }
    var transportEvents: [LoadEvent] = []
    /// Why TCP failed, while HTTP/3 may still succeed.
    var transportFailure: ConnectionFailure?
    private var coalescing: CoalescingDecision?
    /// Whether coalescing with another origin's connection was considered already.
    private var hasTriedCoalescing = false

    // MARK: HTTP/3

    var http3: HTTP3Connector?
    /// Whether HTTP/3 was begun.
    var hasTriedHTTP3 = false
    /// Why the origin's own server was refused over QUIC. It is the error if TCP does not reach the server.
    var http3Refusal: ConnectionFailure?
    /// The upgrade that continues the HTTP/3 part of this attempt, because TCP was faster.
    weak var upgrade: ConnectionAttempt?
    /// The pending query for HTTPS records.
    private var servicesTicket: QueryTicket?
    /// The time limit of HTTP/3, or its head start over TCP.
    let timer = LoopTimer()

    init(for request: ConnectionRequest?, at origin: OriginConnections, pool: ConnectionPool, isUpgrade: Bool = false) {
        self.request = request
        primaryOrigin = origin
        self.pool = pool
        self.isUpgrade = isUpgrade
        beginning = pool.loop.now
        generation = pool.generation
        request?.attempt = self
    }

    func start() {
        let key = primaryOrigin.key
        if pool.requiredVersion == .http3 {
            // HTTP/3 is tried even if it has failed recently, because no other version is allowed.
            return startHTTP3(pool.http3Service(of: key, isAssumed: true) ?? AlternativeService(port: key.port))
        }
        // An upgrade already tries HTTP/3.
        if primaryOrigin.upgrade != nil { return startTCP() }
        if let service = pool.http3Service(of: key, isAssumed: request?.assumesHTTP3 ?? false) {
            return startHTTP3(service)
        }
        askForServices()
        startTCP(awaitsServices: servicesTicket != nil)
    }

    func cancel() {
        servicesTicket?.withdraw()
        servicesTicket = nil
        endTCP()
        endHTTP3()
        coalescing?.cancel()
        coalescing = nil
    }

    /// Another request waits for the connection now, or none for the moment.
    func setRequest(_ request: ConnectionRequest?) {
        self.request?.attempt = nil
        self.request = request
        request?.attempt = self
        if isUpgrade { requestOfUpgradeChanged() }
        guard request != nil else { return }
        connector?.challengeDelegateChanged()
        coalescing?.challengeDelegateChanged()
        handshake?.challengeDelegateChanged()
        http3?.challengeDelegateChanged()
    }

    /// The events of the transport that has progressed furthest, for the request that waits for it.
    var events: [LoadEvent] {
        if wasLeft { return [] }
        if let http3, !isTryingTCP { return http3.events }
        return transportEvents
    }

    var isTryingTCP: Bool { connector != nil || handshake != nil }

    var pendingPhase: PendingPhase? {
        if isAsking { return nil }
        if securedProxy != nil { return PendingPhase(phase: .connection, since: handshakeBeginning) }
        return connector?.pendingPhase
    }

    /// The loop's time of the last activity over TCP: a host accepted the connection, or sent bytes of a handshake.
    /// 0 before the first.
    var lastArrival: Int64 {
        if let handshake { return max(handshakeBeginning, handshake.lastArrival) }
        return connector?.lastArrival ?? 0
    }

    // MARK: Challenges

    var proxyAuthorizer: (any ProxyAuthorizer)? { request?.delegate?.proxyAuthorizer }

    func handshakeReceived(challenge question: ConnectionChallenge) -> Bool {
        // Only one transport may cause challenges.
        if handshake != nil { leaveHTTP3() }
        isAsking = request?.delegate?.connectionReceived(challenge: question) ?? false
        if isAsking { hasAsked = true }
        return isAsking
    }

    func handshakeContinues() {
        isAsking = false
        request?.delegate?.connectionIsBeingMade()
        for other in primaryOrigin.sharing(self) { other.delegate?.connectionIsBeingMade() }
    }

    // MARK: HTTPS records

    /// Called before the addresses are resolved, so that cached answers arrive in that order.
    private func askForServices() {
        guard pool.mayFindHTTP3(of: primaryOrigin.key) else { return }
        let report = LoopBox({ [weak self] (answer: HTTPSRecordAnswer) -> Void in self?.learned(answer) })
        let question = HTTPSRecordQuery(primaryOrigin.key.host, port: primaryOrigin.key.port)
        servicesTicket = pool.resolver.findServices(question, on: pool.loop) { answer, _ in report.value(answer) }
    }

    private func learned(_ answer: HTTPSRecordAnswer) {
        guard servicesTicket != nil else { return }
        servicesTicket = nil
        // Too late for this attempt: TCP has started to connect, or another origin's connection is considered.
        guard let connector, connector.isResolving else { return }
        guard primaryOrigin.upgrade == nil, case .success(let found) = answer,
            let service = pool.http3Service(of: primaryOrigin.key, among: found)
        else { return connector.servicesKnown() }
        let lookupStart = transportEvents.first { if case .resolutionStarted = $0.kind { true } else { false } }?.time
        endTCP()
        startHTTP3(service, lookupStart: lookupStart)
    }

    // MARK: Transport

    func startTCP(awaitsServices: Bool = false, afterDescriptorWait: Bool = false) {
        let connector = TransportConnector(to: primaryOrigin.key, in: pool, for: self) { [weak self] in
            self?.connectorEnded($0)
        }
        self.connector = connector
        // Only the events of the last try are kept, because there may be any number of tries.
        connector.onBeginning = { [weak self] in self?.transportEvents = [] }
        connector.onEvent = { [weak self] in self?.record($0) }
        connector.onAddresses = { [weak self] in self?.found($0) }
        if afterDescriptorWait { connector.startLater() } else { connector.start(awaitsServices: awaitsServices) }
        // The first use of TLS takes milliseconds; this runs while the name is resolved. A failure is reported by the
        // handshake.
        if primaryOrigin.key.isSecure { _ = try? pool.security.context() }
    }

    func endTCP() {
        pool.loop.disarm(timer)
        connector?.cancel()
        connector = nil
        pool.loop.disarm(silenceTimer)
        if handshake?.hasReceived == false, pool.loop.now - handshakeBeginning >= pool.loop.limits.addressSilence {
            noteSilentAddress()
        }
        handshake?.cancel()
        handshake = nil
    }

    private func record(_ kind: LoadEvent.Kind) {
        transportEvents.append(LoadEvent(time: EventLog.now, kind: kind))
    }

    private func connectorEnded(_ outcome: Result<ByteStream, ConnectionFailure>) {
        mayHaveMoreAddresses = connector?.mayHaveMoreAddresses == true
        connector = nil
        switch outcome {
        case .failure(let failure): fail(failure)
        case .success(let stream): secure(stream)
        }
    }

    private func secure(_ stream: ByteStream) {
        guard primaryOrigin.key.isSecure else { return succeed(stream) }
        record(.secureConnectionStarted)
        handshakeBeginning = pool.loop.now
        let handshake = SecureHandshake(
            stream, to: primaryOrigin.key, with: pool.security, carriesHTTP: true, for: self
        ) { [weak self] in
            self?.handshakeEnded($0)
        }
        self.handshake = handshake
        pool.loop.arm(silenceTimer, at: handshakeBeginning + pool.loop.limits.handshakeSilence, for: self)
        handshake.start()
    }

    /// The next connection to the host tries its other addresses before. Nil if the host is behind a proxy.
    @discardableResult
    private func noteSilentAddress() -> SocketAddress? {
        guard primaryOrigin.key.proxyMode == nil, let address = handshake?.remoteAddress else { return nil }
        pool.silentAddresses.failed(address, at: pool.loop.now)
        return address
    }

    /// Nothing has arrived for the time of a handshake. RFC 8305 leaves open what follows then (§9.2): the other
    /// addresses of the host are tried before this one is tried again. Where that has been done, the handshake goes on,
    /// and the next request in the queue makes a connection of its own.
    func silenceTimerFired() {
        guard isSilent else { return }
        if let address = noteSilentAddress(), leftAddresses.insert(address).inserted {
            let silent = pool.silentAddresses.listed(at: pool.loop.now)
            if mayHaveMoreAddresses || addresses.contains(where: { !silent.contains($0.with(port: address.port)) }) {
                endTCP()
                return startTCP()
            }
        }
        pool.startAttempts(at: primaryOrigin)
    }

    /// The proxy of the TLS handshake in progress.
    private var securedProxy: ProxyServer? {
        if handshake != nil, case .forwarding(let proxy, _) = primaryOrigin.key.proxyMode { proxy } else { nil }
    }

    private func handshakeEnded(_ outcome: Result<ByteStream, LoadError>) {
        let proxy = securedProxy
        if let result = handshake?.trustResult { record(.serverTrust(result)) }
        handshake = nil
        pool.loop.disarm(silenceTimer)
        switch outcome {
        case .failure(let error) where error.isDescriptorShortage:
            // The root certificates could not be read.
            startTCP(afterDescriptorWait: true)
        case .failure(let error):
            fail(proxy.map { ConnectionFailure(error, inHandshakeWith: $0) } ?? ConnectionFailure(error))
        case .success(let stream):
            if pool.silentAddresses.count > 0, let address = stream.remoteAddress {
                pool.silentAddresses.succeeded(address)
            }
            if let session = stream.tls?.session {
                record(.secureConnectionEnded(version: session.version.rawValue, cipherSuite: session.cipherSuite))
            }
            succeed(stream)
        }
    }

    private func succeed(_ stream: ByteStream) {
        leaveHTTP3()
        cancel()
        pool.succeeded(self, with: stream)
    }

    func fail(_ failure: ConnectionFailure) {
        if http3 != nil {
            // HTTP/3 may still succeed.
            transportFailure = failure
            return pool.loop.arm(timer, at: pool.loop.now + pool.loop.limits.http3LastChance, for: self)
        }
        if triesFailedHTTP3(after: failure) { return }
        cancel()
        dropUpgrade()
        // A TLS failure over TCP is as precise.
        pool.failed(self, with: failure.isPersonal ? failure : http3Refusal ?? failure)
    }

    // MARK: Connections of other origins

    /// The name has these addresses; the pool may have a connection to one of them (CONN-3).
    private func found(_ addresses: [SocketAddress]) {
        // The name may be resolved any number of times.
        for address in addresses where !self.addresses.contains(address) { self.addresses.append(address) }
        guard !hasTriedCoalescing, http3 == nil,
            let connection = pool.candidate(for: primaryOrigin.key, at: addresses)
        else { return }
        hasTriedCoalescing = true
        endTCP()
        let decision = CoalescingDecision(about: connection, for: primaryOrigin.key, in: pool, challengeDelegate: self)
        { [weak self] mayShare in
            guard let self else { return }
            let result = coalescing?.trustResult
            coalescing = nil
            guard mayShare else { return startTCP() }
            cancel()
            let events = result.map { [LoadEvent(time: EventLog.now, kind: .serverTrust($0))] } ?? []
            pool.succeeded(self, sharing: connection, events: events)
        }
        coalescing = decision
        decision.start()
    }
}
