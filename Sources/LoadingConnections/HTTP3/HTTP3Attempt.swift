internal import Glibc
internal import LoadingEvents
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

/// Makes one HTTP/3 connection: DNS lookup, address race, QUIC handshake and trust decision. Confined to its pool's
/// loop. Reports the outcome once, never within `start`, and reports nothing after `cancel`.
final class HTTP3Attempt {
    let service: AlternativeService
    private let primaryOrigin: OriginConnections
    private let pool: ConnectionPool
    private weak var challengeDelegate: (any ConnectionChallengeDelegate)?
    /// The number of network changes when the attempt was created.
    private let networkChanges: Int
    /// Returns the waiting request, which may be sent as early data.
    var early: (() -> ConnectionRequest?)?
    /// Whether a request was sent as early data. This happens at most once per attempt.
    private var isEarlyOut = false
    private(set) var events: [LoadEvent] = []
    /// When the first lookup of the origin's name started, if that was before this attempt.
    var lookupStart: Int64?
    private var race: AddressRace<HTTP3Connection>?
    private var trust: ServerTrustDecision?
    /// The certificates that the last trust decision covers, and its result.
    private var trusted: (certificates: [[UInt8]], isTrusted: Bool)?
    /// The open challenge for a client certificate.
    private var question: ConnectionChallenge?
    private var hasAskedForIdentity = false
    private var identity: HTTP3Identity?
    /// The connection whose handshake is complete, while the trust decision is pending.
    private var connection: HTTP3Connection?
    /// Whether no request waits for the connection. No trust decision is made then.
    private var isHeld = false
    private var completed: (() -> Void)?
    private var outcome: ((Result<HTTP3Connection, HTTP3AttemptFailure>) -> Void)?

    /// - Parameter service: The service where the origin offers HTTP/3.
    init(
        to service: AlternativeService, for primaryOrigin: OriginConnections, pool: ConnectionPool,
        challengeDelegate: any ConnectionChallengeDelegate
    ) {
        self.service = service
        self.primaryOrigin = primaryOrigin
        self.pool = pool
        self.challengeDelegate = challengeDelegate
        networkChanges = pool.http3Services.noteNetwork()
    }

    /// - Parameters:
    ///   - completed: Called when a handshake is complete, before the trust decision. A client certificate may require
    ///     a second handshake, and then a second call.
    ///   - outcome: Receives the connection. The caller adds it to the pool or closes it.
    func start(
        completed: @escaping () -> Void, outcome: @escaping (Result<HTTP3Connection, HTTP3AttemptFailure>) -> Void
    ) {
        self.completed = completed
        self.outcome = outcome
        startRace()
    }

    /// Passes the attempt to another delegate when the attempt's initiator no longer needs a connection. The attempt
    /// continues in the held state: no request waits for it.
    func pass(
        to challengeDelegate: any ConnectionChallengeDelegate, early: @escaping () -> ConnectionRequest?,
        completed: @escaping () -> Void,
        outcome: @escaping (Result<HTTP3Connection, HTTP3AttemptFailure>) -> Void
    ) {
        self.challengeDelegate = challengeDelegate
        self.early = early
        self.completed = completed
        self.outcome = outcome
        hold()
    }

    /// Records the failure against the service's host and port. Failures of this machine do not count, and neither do
    /// failures from before a network change.
    func blamePlace(for failure: HTTP3AttemptFailure) {
        let services = pool.http3Services
        guard failure.isOfServer, networkChanges == services.networkChanges else { return }
        if failure.isRefusal {
            services.isRefused(service, of: primaryOrigin.key.place, at: pool.loop.now)
        } else {
            services.failed(service, of: primaryOrigin.key.place, at: pool.loop.now)
        }
    }

    private func startRace() {
        let place = ConnectionKey(
            isSecure: true, host: service.host ?? primaryOrigin.key.host, port: service.port,
            service: primaryOrigin.key.service
        )
        let race = AddressRace<HTTP3Connection>(to: place, on: pool.loop, resolver: pool.resolver) {
            [primaryOrigin, pool, service, weak self] (address, told) throws(POSIXFailure) in
            self?.recordStart()
            let peer = ConnectionSecurity.QUICPeer(origin: primaryOrigin.key, place: place.place)
            let session = pool.security.takeSession(for: peer)
            return try HTTP3Connection(
                to: address, of: service, as: peer, knownBy: self?.identity, resuming: session,
                early: self?.earlyRequest(in: session), primaryOrigin: primaryOrigin, pool: pool, opened: told)
        }
        self.race = race
        race.start(record: { [weak self] in self?.record($0) }) { [weak self] in self?.raceEnded($0) }
    }

    /// The request that may be sent as early data of a resumed session. Resumption proves that the server is the one
    /// with which the session was established. No further check of the server is made then.
    private func earlyRequest(in session: ConnectionSecurity.QUICSession?) -> HTTPStreamRequest? {
        guard !isEarlyOut, let session, session.wasEvaluated, session.resumption.hasEarlyData,
            pool.security.requirements(on: primaryOrigin.key)?.pins == nil, let request = early?(),
            let exchange = request.early
        else { return nil }
        isEarlyOut = true
        return exchange.asStream(urgency: HTTPStream.urgency(of: request.priority))
    }

    func cancel() {
        outcome = nil
        completed = nil
        early = nil
        race?.cancel()
        race = nil
        trust?.cancel()
        trust = nil
        question?.withdraw()
        question = nil
        connection?.close()
        connection = nil
    }

    /// No request waits for the connection any more. The attempt completes the handshake, then holds the connection
    /// until a request waits for it. An early request is dropped, since it does not belong to the next request.
    func hold() {
        isHeld = true
        trust?.cancel()
        trust = nil
        if let question {
            question.withdraw()
            self.question = nil
            hasAskedForIdentity = false
        }
        connection?.dropEarly()
    }

    /// The connection whose handshake is complete while no request waits for it.
    var held: HTTP3Connection? { isHeld ? connection : nil }

    /// A different request waits for the connection now.
    func challengeDelegateChanged() {
        if isHeld {
            isHeld = false
            // Posted to a later turn: the pool is in the middle of an operation.
            let step = LoopBox({ [weak self] in self?.goOn() ?? () })
            return pool.loop.post { step.value() }
        }
        trust?.challengeDelegateChanged()
        guard let question, case .clientCertificate(let request) = question.subject else { return }
        question.withdraw()
        // Posted to a later turn: the pool is in the middle of an operation.
        let step = LoopBox({ [weak self] in
            guard let self, outcome != nil, self.question === question else { return }
            ask(request)
        })
        pool.loop.post { step.value() }
    }

    /// Makes the outstanding trust decision for a connection that was held.
    private func goOn() {
        guard outcome != nil, !isHeld, let connection, trust == nil, question == nil else { return }
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

    private func raceEnded(_ result: Result<HTTP3Connection, AddressRaceFailure>) {
        guard outcome != nil else { return }
        race = nil
        switch result {
        case .failure(.noDescriptor): fail(.connectionAttemptFailed(EMFILE))
        // A client certificate that was requested once is not requested again over TCP.
        case .failure(.unreachable(let error)):
            end(.failure(HTTP3AttemptFailure(error: error, isRefusal: identity != nil)))
        case .success(let connection):
            self.connection = connection
            completed?()
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
        if let trusted, trusted.certificates == connection.certificates {
            return decided(.success(trusted.isTrusted))
        }
        let agreement = ServerTrustDecision.Agreement(
            version: TLSVersion.tls13.rawValue, cipherSuite: connection.cipherSuite ?? 0)
        let peer = TLSPeer(
            serverName: primaryOrigin.key.host, chain: chain, stapledResponse: connection.stapledResponse)
        trust = ServerTrustDecision(
            about: peer, of: primaryOrigin.key, with: agreement, wasEvaluated: connection.wasEvaluated, pool: pool,
            for: challengeDelegate
        ) { [weak self] in self?.decided($0) }
        trust?.start()
    }

    private func decided(_ decision: Result<Bool, LoadError>) {
        trust = nil
        guard let connection else { return }
        switch decision {
        case .success(let isTrusted):
            trusted = (connection.certificates, isTrusted)
            if !hasAskedForIdentity, let request = connection.identityRequest { return ask(request) }
            begin()
        case .failure(let error):
            self.connection = nil
            connection.reject()
            end(.failure(HTTP3AttemptFailure(error: error, isRefusal: true)))
        }
    }

    /// The server requests a client certificate.
    private func ask(_ request: TLSIdentityRequest) {
        hasAskedForIdentity = true
        let question = ConnectionChallenge(.clientCertificate(request), of: primaryOrigin.key) { [weak self] in
            self?.apply($0)
        }
        self.question = question
        if challengeDelegate?.handshakeReceived(challenge: question) == true { return }
        question.withdraw()
        self.question = nil
        begin()
    }

    private func apply(_ answer: ConnectionChallenge.Answer) {
        guard outcome != nil else { return }
        question = nil
        challengeDelegate?.handshakeContinues()
        guard case .identity(let identity) = answer else { return begin() }
        let server = connection?.certificates.first ?? []
        connection?.close()
        connection = nil
        guard let shown = HTTP3Identity(identity, for: server) else {
            let error = LoadError(TLSError(code: TLSError.clientCertificateRejected, reason: "no private key"))
            return end(.failure(HTTP3AttemptFailure(error: error, isRefusal: true)))
        }
        // GnuTLS accepts an identity only at the beginning of a handshake.
        self.identity = shown
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
            return end(.failure(HTTP3AttemptFailure(error: error, isRefusal: hasAskedForIdentity)))
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

    private func fail(_ error: LoadError) { end(.failure(HTTP3AttemptFailure(error: error, isRefusal: false))) }

    private func end(_ result: Result<HTTP3Connection, HTTP3AttemptFailure>) {
        let outcome = outcome
        self.outcome = nil
        completed = nil
        early = nil
        outcome?(result)
    }
}

extension HTTP3Identity {
    /// Nil if the private key cannot be exported.
    fileprivate init?(_ identity: TLSIdentity, for server: [UInt8]) {
        guard let chain = identity.chain?.der, let key = identity.privateKey else { return nil }
        self.init(chain: chain, key: key, reader: server)
    }
}
