internal import LoadingEvents
internal import LoadingSemantics
internal import LoadingTransport

/// Makes one connection for a pool: name resolution, socket, proxy if there is one, TLS. Confined to the pool's loop.
/// Ends with exactly one call of the pool, such as `succeeded` or `failed`, never within `start`, and with none after
/// `cancel`.
///
/// If the server is known to support HTTP/3, HTTP/3 is tried first. TCP starts in parallel if there is no answer after
/// a short time, and the first completed handshake wins (CONN-8). If TCP wins, HTTP/3 continues as an `HTTP3Upgrade`.
/// If nothing is known about HTTP/3, the HTTPS record is queried in parallel with the addresses (CONN-6).
final class ConnectionAttempt: ConnectionChallengeDelegate, LoopTimerTarget {
    let primaryOrigin: OriginConnections
    /// The request that it was started for, or another one that it was passed on to; nil if that no longer waits.
    private(set) var request: ConnectionRequest?
    /// The events of the transport that has progressed furthest.
    var events: [LoadEvent] {
        if let http3, dial == nil, secure == nil { return http3.events }
        return ownEvents
    }
    /// The events of TCP.
    private var ownEvents: [LoadEvent] = []
    private let pool: ConnectionPool
    private var dial: TransportConnector?
    private var secure: SecureHandshake?
    private var secureBeginning: Int64 = 0
    private var http3: HTTP3Attempt?
    /// The HTTP/3 attempt after TCP has won.
    private weak var upgrade: HTTP3Upgrade?
    private var coalescing: CoalescingDecision?
    /// Whether coalescing with another origin's connection was considered already.
    private var hasTriedCoalescing = false
    /// The pending query for HTTPS records.
    private var servicesTicket: NameResolver.Ticket?
    /// The head start of HTTP/3 over TCP.
    private let headStart = LoopTimer()
    /// Why TCP failed, while HTTP/3 may still succeed.
    private var failure: ConnectionFailure?
    private let descriptorWait: DescriptorWait
    private var hasEnded = false
    /// When it was started, and the pool's generation at that time.
    let beginning: Int64
    let generation: Int
    /// Whether a challenge was presented.
    private(set) var hasAsked = false
    /// Whether a challenge is open. The connection waits for its answer.
    private(set) var isAsking = false

    init(for request: ConnectionRequest, at primaryOrigin: OriginConnections, pool: ConnectionPool) {
        self.request = request
        self.primaryOrigin = primaryOrigin
        self.pool = pool
        descriptorWait = DescriptorWait(pool)
        beginning = pool.loop.now
        generation = pool.generation
    }

    func start() {
        if pool.requiredVersion == .http3 {
            // HTTP/3 is tried even if it has failed recently, because no other version is allowed.
            let known = pool.http3Service(of: primaryOrigin.key, isAssumed: true)
            return startHTTP3(known ?? AlternativeService(port: primaryOrigin.key.port))
        }
        // An upgrade already tries HTTP/3.
        if primaryOrigin.upgrade != nil { return startTCP() }
        if let service = pool.http3Service(of: primaryOrigin.key, isAssumed: request?.assumesHTTP3 ?? false) {
            return startHTTP3(service)
        }
        askForServices()
        startTCP(awaitsServices: servicesTicket != nil)
    }

    private func startTCP(awaitsServices: Bool = false) {
        descriptorWait.end()
        let dial = dial ?? makeDial()
        self.dial = dial
        dial.start(awaitsServices: awaitsServices)
        // The first use of TLS takes milliseconds; this runs while the name is resolved. A failure is reported by the
        // handshake.
        if primaryOrigin.key.isSecure { _ = try? pool.security.context() }
    }

    private func makeDial() -> TransportConnector {
        let dial = TransportConnector(to: primaryOrigin.key, in: pool, for: self) { [weak self] in self?.dialEnded($0) }
        // Only the events of the last try are kept, because there may be any number of tries.
        dial.onBeginning = { [weak self] in self?.ownEvents = [] }
        dial.onEvent = { [weak self] in self?.record($0) }
        dial.onAddresses = { [weak self] in self?.found($0) }
        return dial
    }

    func cancel() {
        guard !hasEnded else { return }
        end()
        endTCP()
        endHTTP3()
        coalescing?.cancel()
        coalescing = nil
    }

    private func end() {
        hasEnded = true
        guard let ticket = servicesTicket else { return }
        servicesTicket = nil
        pool.resolver.withdraw(ticket)
    }

    /// Another request waits for the connection now, or none for the moment.
    func setRequest(_ request: ConnectionRequest?) {
        self.request = request
        guard request != nil else { return }
        dial?.challengeDelegateChanged()
        coalescing?.challengeDelegateChanged()
        secure?.challengeDelegateChanged()
        http3?.challengeDelegateChanged()
    }

    var proxyAuthorizer: (any ProxyAuthorizer)? { request?.delegate?.proxyAuthorizer }

    func handshakeReceived(challenge question: ConnectionChallenge) -> Bool {
        // Only one transport may cause challenges.
        if secure != nil { leaveHTTP3() }
        isAsking = request?.delegate?.connectionReceived(challenge: question) ?? false
        if isAsking { hasAsked = true }
        return isAsking
    }

    func handshakeContinues() {
        isAsking = false
        request?.delegate?.connectionIsBeingMade()
        for other in primaryOrigin.sharing(self) { other.delegate?.connectionIsBeingMade() }
    }

    /// The step that the first hop has not completed, and since when; nil if something else is awaited.
    var awaits: PendingPhase? {
        if isAsking { return nil }
        return securedProxy != nil ? PendingPhase(step: .connection, since: secureBeginning) : dial?.awaits
    }

    /// The proxy of the TLS handshake in progress.
    private var securedProxy: ProxyServer? {
        if secure != nil, case .forwarding(let proxy, _) = primaryOrigin.key.proxyMode { proxy } else { nil }
    }

    private func record(_ kind: LoadEvent.Kind) {
        ownEvents.append(LoadEvent(time: EventLog.now, kind: kind))
    }

    // MARK: HTTP/3

    /// Called before the addresses are resolved, so that cached answers arrive in that order.
    private func askForServices() {
        guard pool.mayFindHTTP3(of: primaryOrigin.key) else { return }
        let told = LoopBox({ [weak self] (answer: HTTPSRecordAnswer) -> Void in self?.learned(answer) })
        let question = HTTPSRecordQuery(primaryOrigin.key.host, port: primaryOrigin.key.port)
        servicesTicket = pool.resolver.findServices(question, on: pool.loop) { answer, _ in told.value(answer) }
    }

    private func learned(_ answer: HTTPSRecordAnswer) {
        guard !hasEnded, servicesTicket != nil else { return }
        servicesTicket = nil
        // Too late for this attempt: TCP has started to connect, or another origin's connection is considered.
        guard let dial, dial.isResolving else { return }
        guard primaryOrigin.upgrade == nil, case .success(let found) = answer,
            let service = pool.http3Service(of: primaryOrigin.key, among: found)
        else { return dial.servicesKnown() }
        let lookupStart = ownEvents.first { if case .resolutionStarted = $0.kind { true } else { false } }?.time
        endTCP()
        startHTTP3(service, lookupStart: lookupStart)
    }

    private func startHTTP3(_ service: AlternativeService, lookupStart: Int64? = nil) {
        let attempt = HTTP3Attempt(to: service, for: primaryOrigin, pool: pool, challengeDelegate: self)
        attempt.lookupStart = lookupStart
        attempt.early = { [weak self] in self?.request }
        http3 = attempt
        if pool.requiredVersion != .http3 {
            pool.loop.arm(headStart, at: pool.loop.now + pool.loop.limits.http3HeadStart, for: self)
        }
        attempt.start { [weak self] in
            self?.endTCP()
        } outcome: { [weak self] in
            self?.http3Ended($0)
        }
    }

    private func http3Ended(_ outcome: Result<HTTP3Connection, HTTP3AttemptFailure>) {
        guard !hasEnded, let attempt = http3 else { return }
        http3 = nil
        pool.loop.disarm(headStart)
        switch outcome {
        case .success(let connection):
            end()
            endTCP()
            pool.succeeded(self, with: connection, events: attempt.events)
        case .failure(let failure):
            if self.failure == nil { attempt.blamePlace(for: failure) }
            if pool.requiredVersion == .http3 {
                ownEvents = attempt.events
                return fail(ConnectionFailure(failure.error))
            }
            // A challenged delegate refused the handshake, so it would fail over TCP as well. A refusal of an
            // alternative endpoint does not count against the origin.
            if failure.isRefusal, hasAsked, primaryOrigin.shared == nil,
                attempt.service.isOwn(of: primaryOrigin.key.place)
            {
                ownEvents = attempt.events
                return fail(ConnectionFailure(failure.error))
            }
            goOnWithoutHTTP3()
        }
    }

    /// HTTP/3 has failed or has not completed in time.
    private func goOnWithoutHTTP3() {
        if primaryOrigin.shared != nil {
            // Another attempt made a connection that all requests share.
            end()
            endHTTP3()
            endTCP()
            return pool.isNotNeeded(self)
        }
        if let failure {
            // Neither TCP nor QUIC reaches the server.
            endHTTP3()
            return fail(failure)
        }
        if dial == nil, secure == nil { startTCP() }
    }

    /// TCP has won, or its handshake is about to be completed. A slower HTTP/3 attempt is not a failed one, so it
    /// continues as an `HTTP3Upgrade` if later requests can use it.
    private func leaveHTTP3() {
        if let http3, primaryOrigin.upgrade == nil, primaryOrigin.shared?.version != .http3,
            generation == pool.generation
        {
            let upgrade = HTTP3Upgrade(with: http3, of: generation, at: primaryOrigin, pool: pool)
            self.http3 = nil
            self.upgrade = upgrade
            primaryOrigin.upgrade = upgrade
            upgrade.goOn()
        }
        endHTTP3()
    }

    /// If this attempt caused a challenge, an upgrade without a request would cause a second one about the same server
    /// for the next load: one over QUIC, one over TCP.
    private func dropUpgrade() {
        if hasAsked, let upgrade, upgrade === primaryOrigin.upgrade, upgrade.request == nil {
            pool.dropUpgrade(of: primaryOrigin)
        }
    }

    private func endHTTP3() {
        pool.loop.disarm(headStart)
        http3?.cancel()
        http3 = nil
    }

    private func endTCP() {
        pool.loop.disarm(headStart)
        dial?.cancel()
        dial = nil
        secure?.cancel()
        secure = nil
        descriptorWait.end()
    }

    func timerFired(_ timer: LoopTimer) {
        goOnWithoutHTTP3()
    }

    // MARK: Connections of other origins

    /// The name has these addresses; the pool may have a connection to one of them (CONN-3).
    private func found(_ addresses: [SocketAddress]) {
        guard !hasTriedCoalescing, http3 == nil,
            let connection = pool.candidate(for: primaryOrigin.key, at: addresses)
        else { return }
        hasTriedCoalescing = true
        endTCP()
        let decision = CoalescingDecision(about: connection, for: primaryOrigin.key, in: pool, challengeDelegate: self)
        { [weak self] in
            self?.decided(mayShare: $0)
        }
        coalescing = decision
        decision.start()
    }

    private func decided(mayShare: Bool) {
        guard !hasEnded, let connection = coalescing?.connection else { return }
        coalescing = nil
        guard mayShare else { return startTCP() }
        end()
        pool.succeeded(self, sharing: connection)
    }

    // MARK: TCP

    private func dialEnded(_ outcome: Result<ByteStream, TransportConnector.Failure>) {
        guard !hasEnded else { return }
        switch outcome {
        case .failure(.noDescriptor): waitForDescriptor()
        case .failure(.lost(let failure)): fail(failure)
        case .success(let stream):
            dial = nil
            secure(stream)
        }
    }

    private func secure(_ stream: ByteStream) {
        guard primaryOrigin.key.isSecure else { return succeed(stream) }
        record(.secureConnectionStarted)
        secureBeginning = pool.loop.now
        secure = SecureHandshake(stream, to: primaryOrigin.key, with: pool.security, carriesHTTP: true, for: self) {
            [weak self] in
            self?.handshakeEnded($0)
        }
        secure?.start()
    }

    private func waitForDescriptor() {
        descriptorWait.begin { [weak self] in self?.startTCP() }
    }

    private func handshakeEnded(_ outcome: Result<ByteStream, LoadError>) {
        guard !hasEnded else { return }
        let proxy = securedProxy
        secure = nil
        switch outcome {
        case .failure(let error) where error.isDescriptorShortage:
            // The root certificates could not be read.
            waitForDescriptor()
        case .failure(let error):
            fail(proxy.map { ConnectionFailure(error, inHandshakeWith: $0) } ?? ConnectionFailure(error))
        case .success(let stream):
            if let session = stream.tls?.session {
                record(.secureConnectionEnded(version: session.version.rawValue, cipherSuite: session.cipherSuite))
            }
            succeed(stream)
        }
    }

    private func succeed(_ stream: ByteStream) {
        end()
        leaveHTTP3()
        pool.succeeded(self, with: stream)
    }

    private func fail(_ failure: ConnectionFailure) {
        if http3 != nil {
            // HTTP/3 may still succeed.
            self.failure = failure
            return pool.loop.arm(headStart, at: pool.loop.now + pool.loop.limits.http3LastChance, for: self)
        }
        end()
        dropUpgrade()
        pool.failed(self, with: failure)
    }
}
