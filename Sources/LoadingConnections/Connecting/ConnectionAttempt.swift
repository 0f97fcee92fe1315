internal import LoadingEvents
internal import LoadingSemantics
internal import LoadingTransport

/// Makes one connection for a pool: name, address, socket, a way through a proxy, TLS. Confined to the pool's loop; ends
/// with exactly one call of the pool's `succeeded` or `failed`, never within `start`, and with none after `cancel`.
///
/// Where the server is known to speak HTTP/3, that is tried first, and TCP beside it when there is no answer for a moment:
/// the first handshake that is through wins (CONN-8). Where that is TCP's, HTTP/3 goes on as an `HTTP3Upgrade`. Where nothing
/// is known, name servers are asked beside the addresses (CONN-6).
final class ConnectionAttempt: SecurityAsker, LoopTimerTarget {
    let home: OriginConnections
    /// For whom it was started, as long as he waits.
    private(set) var request: ConnectionRequest?
    /// What has happened on the way that has come furthest.
    var events: [LoadEvent] {
        if let http3, dial == nil, secure == nil { return http3.events }
        return ownEvents
    }
    /// What has happened but for HTTP/3.
    private var ownEvents: [LoadEvent] = []
    private let pool: ConnectionPool
    private var dial: Dial?
    private var secure: SecureHandshake?
    private var secureBeginning: Int64 = 0
    private var http3: HTTP3Attempt?
    /// What that has become since TCP is there.
    private weak var upgrade: HTTP3Upgrade?
    private var coalescing: CoalescingDecision?
    /// Whether a connection of another origin's was thought of already.
    private var hasTriedCoalescing = false
    /// The question about records of DNS, until it is answered.
    private var servicesTicket: NameResolver.Ticket?
    /// Of HTTP/3, before TCP.
    private let headStart = LoopTimer()
    /// Why there is no connection over TCP, while there may be one over QUIC.
    private var failure: ConnectionFailure?
    private let descriptorWait: DescriptorWait
    private var hasEnded = false
    /// When it was begun, and how often connections had been given up by then.
    let beginning: Int64
    let generation: Int
    /// Whether somebody was asked about the connection.
    private(set) var hasAsked = false
    /// Whether somebody is asked about the connection, which stands still meanwhile.
    private(set) var isAsking = false

    init(for request: ConnectionRequest, at home: OriginConnections, pool: ConnectionPool) {
        self.request = request
        self.home = home
        self.pool = pool
        descriptorWait = DescriptorWait(pool)
        beginning = pool.loop.now
        generation = pool.generation
    }

    func start() {
        if pool.requiredVersion == .http3 {
            // Also where it has failed lately: there is nothing else to try.
            let known = pool.http3Service(of: home.origin, isAssumed: true)
            return startHTTP3(known ?? AlternativeService(port: home.origin.port))
        }
        // What is tried already is not tried twice.
        if home.upgrade != nil { return startTCP() }
        if let service = pool.http3Service(of: home.origin, isAssumed: request?.assumesHTTP3 ?? false) {
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
        // The first use of TLS takes milliseconds, which pass here while the name is looked up. A failure comes again.
        if home.origin.isSecure { _ = try? pool.security.context() }
    }

    private func makeDial() -> Dial {
        let dial = Dial(to: home.origin, in: pool, for: self) { [weak self] in self?.dialEnded($0) }
        // Only the last try is told of: there may be any number of them.
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

    /// Somebody else waits for the connection now, or nobody for the moment.
    func setRequest(_ request: ConnectionRequest?) {
        self.request = request
        guard request != nil else { return }
        dial?.askerChanged()
        coalescing?.askerChanged()
        secure?.askerChanged()
        http3?.askerChanged()
    }

    var tunnelSpeaker: (any TunnelSpeaker)? { request?.taker?.tunnelSpeaker }

    func handshakeAsks(_ question: SecurityQuestion) -> Bool {
        // One of the two is enough to be asked about.
        if secure != nil { leaveHTTP3() }
        isAsking = request?.taker?.connectionAsks(question) ?? false
        if isAsking { hasAsked = true }
        return isAsking
    }

    func handshakeGoesOn() {
        isAsking = false
        request?.taker?.connectionIsBeingMade()
        for other in home.sharing(self) { other.taker?.connectionIsBeingMade() }
    }

    /// What is awaited of whoever the way leads to first; nil if he is not to blame.
    var awaits: AwaitedStep? {
        if isAsking { return nil }
        return securedProxy != nil ? AwaitedStep(step: .connection, since: secureBeginning) : dial?.awaits
    }

    /// The proxy that TLS is being made with.
    private var securedProxy: ProxyServer? {
        if secure != nil, case .forwarding(let proxy, _) = home.origin.passage { proxy } else { nil }
    }

    private func record(_ kind: LoadEvent.Kind) {
        ownEvents.append(LoadEvent(time: EventLog.now, kind: kind))
    }

    // MARK: HTTP/3

    /// Begins before the addresses are asked for, so that what is known of both comes in that order.
    private func askForServices() {
        guard pool.mayFindHTTP3(of: home.origin) else { return }
        let told = LoopBox({ [weak self] (answer: ServiceAnswer) -> Void in self?.learned(answer) })
        let question = ServiceQuestion(home.origin.host, port: home.origin.port)
        servicesTicket = pool.resolver.findServices(question, on: pool.loop) { answer, _ in told.value(answer) }
    }

    private func learned(_ answer: ServiceAnswer) {
        guard !hasEnded, servicesTicket != nil else { return }
        servicesTicket = nil
        // What comes after TCP has set out, or while somebody else's connection is looked at, is for the next one.
        guard let dial, dial.isResolving else { return }
        guard home.upgrade == nil, case .success(let found) = answer,
            let service = pool.http3Service(of: home.origin, among: found)
        else { return dial.servicesKnown() }
        let lookupStart = ownEvents.first { if case .resolutionStarted = $0.kind { true } else { false } }?.time
        endTCP()
        startHTTP3(service, lookupStart: lookupStart)
    }

    private func startHTTP3(_ service: AlternativeService, lookupStart: Int64? = nil) {
        let attempt = HTTP3Attempt(to: service, for: home, pool: pool, asker: self)
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
            // Whoever was asked does not trust the server itself, whatever it speaks. One that stands in for it is left alone.
            if failure.isRefusal, hasAsked, home.shared == nil, attempt.service.isOwn(of: home.origin.place) {
                ownEvents = attempt.events
                return fail(ConnectionFailure(failure.error))
            }
            goOnWithoutHTTP3()
        }
    }

    /// HTTP/3 has not come in time, or not at all.
    private func goOnWithoutHTTP3() {
        if home.shared != nil {
            // Another attempt's connection, for all.
            end()
            endHTTP3()
            endTCP()
            return pool.isNotNeeded(self)
        }
        if let failure {
            // Nobody is there at all.
            endHTTP3()
            return fail(failure)
        }
        if dial == nil, secure == nil { startTCP() }
    }

    /// TCP is there first, or all but there. To be slower is not to be broken, so what was begun goes on to its own end, if it
    /// is of use to anybody.
    private func leaveHTTP3() {
        if let http3, home.upgrade == nil, home.shared?.version != .http3, generation == pool.generation {
            let upgrade = HTTP3Upgrade(with: http3, of: generation, at: home, pool: pool)
            self.http3 = nil
            self.upgrade = upgrade
            home.upgrade = upgrade
            upgrade.goOn()
        }
        endHTTP3()
    }

    /// Whoever was asked about the server would be asked about it twice by the next load: over QUIC, and over TCP.
    private func dropUpgrade() {
        if hasAsked, let upgrade, upgrade === home.upgrade, upgrade.request == nil { pool.dropUpgrade(of: home) }
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

    /// The host's name leads to these addresses, and there may be a connection to one of them (CONN-3).
    private func found(_ addresses: [SocketAddress]) {
        guard !hasTriedCoalescing, http3 == nil,
            let connection = pool.candidate(for: home.origin, at: addresses)
        else { return }
        hasTriedCoalescing = true
        endTCP()
        let decision = CoalescingDecision(about: connection, for: home.origin, in: pool, asker: self) { [weak self] in
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

    private func dialEnded(_ outcome: Result<ByteStream, Dial.Failure>) {
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
        guard home.origin.isSecure else { return succeed(stream) }
        record(.secureConnectionStarted)
        secureBeginning = pool.loop.now
        secure = SecureHandshake(stream, to: home.origin, with: pool.security, carriesHTTP: true, for: self) {
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
            // The roots that the server's certificate is judged by could not be read.
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
            // It may still come through.
            self.failure = failure
            return pool.loop.arm(headStart, at: pool.loop.now + pool.loop.limits.http3LastChance, for: self)
        }
        end()
        dropUpgrade()
        pool.failed(self, with: failure)
    }
}
