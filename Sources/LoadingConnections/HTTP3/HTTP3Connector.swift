internal import LoadingEvents
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

/// Makes one HTTP/3 connection for an attempt: DNS lookup, address race, QUIC handshake, trust decision, and a client
/// certificate if the server requests one. Confined to its pool's loop. Reports the outcome once, never within `start`,
/// and reports nothing after `cancel`.
final class HTTP3Connector {
    /// Why there is no connection.
    struct Failure: Error {
        var error: LoadError
        /// Whether the server answered, but was not trusted, or did not learn the client's identity.
        var isRefusal: Bool
    }

    let service: AlternativeService
    private let primaryOrigin: OriginConnections
    private let pool: ConnectionPool
    /// Nil once the outcome is reported.
    weak var attempt: ConnectionAttempt?
    /// The number of network changes when the connector was created.
    private let networkChanges: Int
    /// Whether a request was sent as early data. This happens at most once.
    private var isEarlyOut = false
    private(set) var events: [LoadEvent] = []
    /// When the first lookup of the origin's name started, if that was before.
    var lookupStart: Int64?
    private var race: AddressRace<HTTP3Connection>?
    private var trust: ServerTrustDecision?
    /// The certificates that the last trust decision covers, and its result.
    private var trusted: (certificates: [[UInt8]], isTrusted: Bool)?
    /// The challenge for a client certificate.
    private var identityChallenge: ChallengePresenter?
    private var hasAskedForIdentity = false
    private var identity: HTTP3Identity?
    /// The connection whose handshake is complete, while the trust decision is pending.
    private var connection: HTTP3Connection?
    /// Whether no request waits for the connection. No trust decision is made then.
    private var isHeld = false

    /// - Parameter service: The service where the origin offers HTTP/3.
    init(to service: AlternativeService, for primaryOrigin: OriginConnections, pool: ConnectionPool) {
        self.service = service
        self.primaryOrigin = primaryOrigin
        self.pool = pool
        networkChanges = pool.http3Services.noteNetwork()
    }

    func start(for attempt: ConnectionAttempt) {
        self.attempt = attempt
        startRace()
    }

    /// Records a failure of the service. Failures of this machine, such as a lack of descriptors or of a route, do not
    /// count, and neither do failures from before a network change.
    func note(_ failure: Failure) {
        let services = pool.http3Services
        guard !failure.error.isDescriptorShortage, !failure.error.isNoRoute, networkChanges == services.networkChanges
        else { return }
        if failure.isRefusal {
            services.isRefused(service, of: primaryOrigin.key.hostPort, at: pool.loop.now)
        } else {
            services.failed(service, of: primaryOrigin.key.hostPort, at: pool.loop.now)
        }
    }

    private func startRace() {
        let alternative = ConnectionKey(
            isSecure: true, host: service.host ?? primaryOrigin.key.host, port: service.port,
            service: primaryOrigin.key.service
        )
        let race = AddressRace<HTTP3Connection>(
            to: alternative, on: pool.loop, resolver: pool.resolver, destinations: pool.destinations,
            close: { $0.close() }
        ) {
            [primaryOrigin, pool, service, weak self] (address, connected) throws(POSIXFailure) in
            self?.recordStart()
            let peer = ConnectionSecurity.QUICPeer(key: primaryOrigin.key, hostPort: alternative.hostPort)
            let session = pool.security.takeSession(for: peer)
            return try HTTP3Connection(
                to: address, of: service, as: peer, knownBy: self?.identity, resuming: session,
                early: self?.earlyRequest(in: session), primaryOrigin: primaryOrigin, pool: pool, opened: connected)
        }
        self.race = race
        race.start(record: { [weak self] in self?.record($0) }) { [weak self] in self?.raceEnded($0) }
    }

    /// The request that may be sent as early data of a resumed session. Resumption proves that the server is the one
    /// with which the session was established. No further check of the server is made then.
    private func earlyRequest(in session: ConnectionSecurity.QUICSession?) -> HTTPStreamRequest? {
        guard !isEarlyOut, let session, session.wasEvaluated, session.resumption.hasEarlyData,
            pool.security.requirements(on: primaryOrigin.key)?.pins == nil, let request = attempt?.request,
            let exchange = request.early
        else { return nil }
        isEarlyOut = true
        return exchange.asStream(urgency: HTTPStream.urgency(of: request.priority))
    }

    func cancel() {
        attempt = nil
        race?.cancel()
        race = nil
        trust?.cancel()
        trust = nil
        identityChallenge?.withdraw()
        identityChallenge = nil
        connection?.close()
        connection = nil
    }

    /// No request waits for the connection any more. It is held after the handshake until a request waits for it. An
    /// early request is dropped, since it does not belong to the next request.
    func hold() {
        isHeld = true
        trust?.cancel()
        trust = nil
        if let identityChallenge, identityChallenge.isOpen {
            identityChallenge.withdraw()
            hasAskedForIdentity = false
        }
        connection?.dropEarly()
    }

    /// The connection whose handshake is complete while no request waits for it.
    var held: HTTP3Connection? { isHeld ? connection : nil }

    /// A different request waits for the connection now.
    func challengeDelegateChanged() {
        guard isHeld else {
            trust?.challengeDelegateChanged()
            identityChallenge?.delegateChanged()
            return
        }
        isHeld = false
        // In a later turn, because the pool is in the middle of a change.
        pool.loop.runLater { [weak self] in self?.continueAfterHold() }
    }

    private func continueAfterHold() {
        guard attempt != nil, !isHeld, let connection, trust == nil, identityChallenge?.isOpen != true else { return }
        decide(about: connection)
    }

    private func record(_ kind: LoadEvent.Kind) {
        var time = EventLog.now
        if case .resolutionStarted = kind, let before = lookupStart {
            time = before
            lookupStart = nil
        }
        events.append(LoadEvent(time: time, kind: kind))
    }

    /// The transport and TLS share one handshake in QUIC. Only the first start of the race is recorded.
    private func recordStart() {
        let isFirst = !events.contains { if case .secureConnectionStarted = $0.kind { true } else { false } }
        if isFirst { record(.secureConnectionStarted) }
    }

    private func raceEnded(_ result: Result<HTTP3Connection, LoadError>) {
        race = nil
        switch result {
        // A client certificate that was requested once is not requested again over TCP.
        case .failure(let error):
            end(.failure(Failure(error: error, isRefusal: identity != nil && !error.isDescriptorShortage)))
        case .success(let connection):
            self.connection = connection
            attempt?.http3HandshakeCompleted()
            if isHeld { connection.dropEarly() } else { decide(about: connection) }
        }
    }

    private func decide(about connection: HTTP3Connection) {
        guard let chain = CertificateChain(der: connection.certificates), !connection.certificates.isEmpty else {
            connection.reject()
            return fail(LoadError(TLSError(code: TLSError.secureConnectionFailed, reason: "no peer certificate")))
        }
        // A second handshake with the same server, which now carries the client certificate. The decision is still
        // valid.
        if let trusted, trusted.certificates == connection.certificates { return serverTrusted() }
        let agreement = ServerTrustDecision.Agreement(
            version: TLSVersion.tls13.rawValue, cipherSuite: connection.cipherSuite ?? 0)
        let peer = TLSPeer(
            serverName: primaryOrigin.key.host, chain: chain, stapledResponse: connection.stapledResponse)
        let trust = ServerTrustDecision(of: primaryOrigin.key, with: pool.security, on: pool.loop, for: attempt)
        self.trust = trust
        trust.start(about: peer, with: agreement, wasEvaluated: connection.wasEvaluated) { [weak self] in
            self?.decided($0, about: peer)
        }
    }

    private func decided(_ verdict: TLSTrustVerdict, about peer: TLSPeer) {
        guard let trust else { return }
        if let result = trust.result { record(.serverTrust(result)) }
        self.trust = nil
        guard let connection else { return }
        if case .reject(let error) = verdict {
            self.connection = nil
            connection.reject()
            return end(.failure(Failure(trust: LoadError(error, of: peer))))
        }
        trusted = (connection.certificates, trust.isTrusted)
        serverTrusted()
    }

    private func serverTrusted() {
        if !hasAskedForIdentity, let request = connection?.identityRequest { return ask(request) }
        begin()
    }

    /// The server requests a client certificate.
    private func ask(_ request: TLSIdentityRequest) {
        hasAskedForIdentity = true
        let challenge = ChallengePresenter(to: attempt, about: primaryOrigin.key, on: pool.loop)
        identityChallenge = challenge
        let isPresented = challenge.present(.clientCertificate(request)) { [weak self] in
            self?.ask(request)
        } answer: { [weak self] in
            self?.apply($0)
        }
        if !isPresented { begin() }
    }

    private func apply(_ answer: ConnectionChallenge.Answer) {
        guard case .identity(let identity) = answer else { return begin() }
        let server = connection?.certificates.first ?? []
        connection?.close()
        connection = nil
        guard let shown = HTTP3Identity(identity, for: server) else {
            let error = LoadError(TLSError(code: TLSError.clientCertificateRejected, reason: "no private key"))
            return end(.failure(Failure(error: error, isRefusal: true)))
        }
        // GnuTLS accepts an identity only at the beginning of a handshake.
        self.identity = shown
        attempt?.http3HandshakeRepeated()
        startRace()
    }

    /// Makes the connection available for requests.
    private func begin() {
        guard let connection, let isTrusted = trusted?.isTrusted else { return }
        self.connection = nil
        // The server may have closed the connection during the trust decision.
        guard !connection.isClosed else {
            // The cause may be a missing client certificate, which would be the same over TCP.
            let error = connection.loss ?? .networkConnectionLost
            return end(.failure(Failure(error: error, isRefusal: hasAskedForIdentity)))
        }
        // A connection that takes no requests counts as lost.
        guard connection.takesRequests else {
            connection.close()
            return fail(.networkConnectionLost)
        }
        record(.secureConnectionEnded(version: TLSVersion.tls13.rawValue, cipherSuite: connection.cipherSuite ?? 0))
        connection.begin(isTrusted: isTrusted)
        end(.success(connection))
        connection.dropEarly()
    }

    private func fail(_ error: LoadError) { end(.failure(Failure(error: error, isRefusal: false))) }

    private func end(_ result: Result<HTTP3Connection, Failure>) {
        let attempt = attempt
        self.attempt = nil
        attempt?.http3Ended(result)
    }
}

extension HTTP3Connector.Failure {
    /// The server is not trusted. Without a descriptor to read roots that is not known: over TCP the load waits for
    /// one.
    init(trust error: LoadError) { self.init(error: error, isRefusal: !error.isDescriptorShortage) }
}

extension HTTP3Identity {
    /// Nil if the private key cannot be exported.
    fileprivate init?(_ identity: TLSIdentity, for server: [UInt8]) {
        guard let chain = identity.chain?.der, let key = identity.privateKey else { return nil }
        self.init(chain: chain, key: key, reader: server)
    }
}
