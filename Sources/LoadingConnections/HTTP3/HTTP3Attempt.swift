internal import Glibc
internal import LoadingEvents
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

/// Makes one HTTP/3 connection: name, address, handshake, trust. Confined to its pool's loop; tells the outcome once, never
/// within `start`, and nothing after `cancel`.
final class HTTP3Attempt {
    let service: AlternativeService
    private let home: OriginConnections
    private let pool: ConnectionPool
    private weak var asker: (any SecurityAsker)?
    /// How often the network had changed when it was begun.
    private let networkChanges: Int
    /// Who waits for the connection, whose request may go out before it is there.
    var early: (() -> ConnectionRequest?)?
    /// A request that goes out early does so once.
    private var isEarlyOut = false
    private(set) var events: [LoadEvent] = []
    /// When the origin's name was asked about first, if that was before.
    var lookupStart: Int64?
    private var race: AddressRace<HTTP3Connection>?
    private var trust: ServerTrustDecision?
    /// Whom the decision was about, and what it was.
    private var trusted: (certificates: [[UInt8]], isTrusted: Bool)?
    /// By what this side is to be known, while somebody is asked.
    private var question: SecurityQuestion?
    private var hasAskedForIdentity = false
    private var identity: HTTP3Identity?
    /// Whose handshake is through, while it is decided whether the server is trusted.
    private var connection: HTTP3Connection?
    /// Whether nobody waits for the connection, so that nothing is decided about its server.
    private var isHeld = false
    private var completed: (() -> Void)?
    private var outcome: ((Result<HTTP3Connection, HTTP3AttemptFailure>) -> Void)?

    /// - Parameter service: Where the origin speaks HTTP/3.
    init(
        to service: AlternativeService, for home: OriginConnections, pool: ConnectionPool, asker: any SecurityAsker
    ) {
        self.service = service
        self.home = home
        self.pool = pool
        self.asker = asker
        networkChanges = pool.http3Services.noteNetwork()
    }

    /// - Parameters:
    ///   - completed: Called when a handshake is through, before anybody is asked about the server. Where that asks for a
    ///     certificate there may be a second.
    ///   - outcome: The connection, which is the caller's to give to the pool or to close.
    func start(
        completed: @escaping () -> Void, outcome: @escaping (Result<HTTP3Connection, HTTP3AttemptFailure>) -> Void
    ) {
        self.completed = completed
        self.outcome = outcome
        startRace()
    }

    /// Whoever has begun it needs no connection any more. It goes on for another, as one that nobody waits for.
    func pass(
        to asker: any SecurityAsker, early: @escaping () -> ConnectionRequest?, completed: @escaping () -> Void,
        outcome: @escaping (Result<HTTP3Connection, HTTP3AttemptFailure>) -> Void
    ) {
        self.asker = asker
        self.early = early
        self.completed = completed
        self.outcome = outcome
        hold()
    }

    /// Holds a failure against the place, unless it is this machine's, or that of a network which is another by now.
    func blamePlace(for failure: HTTP3AttemptFailure) {
        let services = pool.http3Services
        guard failure.isOfServer, networkChanges == services.networkChanges else { return }
        if failure.isRefusal {
            services.isRefused(service, of: home.origin.place, at: pool.loop.now)
        } else {
            services.failed(service, of: home.origin.place, at: pool.loop.now)
        }
    }

    private func startRace() {
        let place = Origin(
            isSecure: true, host: service.host ?? home.origin.host, port: service.port, service: home.origin.service
        )
        let race = AddressRace<HTTP3Connection>(to: place, on: pool.loop, resolver: pool.resolver) {
            [home, pool, service, weak self] (address, told) throws(POSIXFailure) in
            self?.recordStart()
            let peer = ConnectionSecurity.QUICPeer(origin: home.origin, place: place.place)
            let session = pool.security.takeSession(for: peer)
            return try HTTP3Connection(
                to: address, of: service, as: peer, knownBy: self?.identity, resuming: session,
                early: self?.earlyRequest(in: session), home: home, pool: pool, opened: told)
        }
        self.race = race
        race.start(record: { [weak self] in self?.record($0) }) { [weak self] in self?.raceEnded($0) }
    }

    /// What may go out with the beginning of a session's handshake. The server proves in it that it is whom the session was
    /// made with, and no more is asked of it then.
    private func earlyRequest(in session: ConnectionSecurity.QUICSession?) -> HTTPStreamRequest? {
        guard !isEarlyOut, let session, session.wasEvaluated, session.resumption.hasEarlyData,
            pool.security.requirements(on: home.origin)?.pins == nil, let request = early?(),
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

    /// Nobody waits for the connection any more. It is made, and then held until somebody does; what went out early is not
    /// his.
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

    /// The connection whose handshake is through while nobody waits for it.
    var held: HTTP3Connection? { isHeld ? connection : nil }

    /// Somebody else waits for the connection now.
    func askerChanged() {
        if isHeld {
            isHeld = false
            // Not at once: the pool is in the middle of something.
            let step = LoopBox({ [weak self] in self?.goOn() ?? () })
            return pool.loop.post { step.value() }
        }
        trust?.askerChanged()
        guard let question, case .clientCertificate(let request) = question.subject else { return }
        question.withdraw()
        // Not at once: the pool is in the middle of something.
        let step = LoopBox({ [weak self] in
            guard let self, outcome != nil, self.question === question else { return }
            ask(request)
        })
        pool.loop.post { step.value() }
    }

    /// What was held lacks a decision.
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

    /// QUIC has one handshake for both.
    private func recordStart() {
        let isFirst = !events.contains { if case .secureConnectionStarted = $0.kind { true } else { false } }
        if isFirst { record(.secureConnectionStarted) }
    }

    private func raceEnded(_ result: Result<HTTP3Connection, AddressRaceFailure>) {
        guard outcome != nil else { return }
        race = nil
        switch result {
        case .failure(.noDescriptor): fail(.connectionAttemptFailed(EMFILE))
        // Who was asked once is not asked again over TCP.
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
        // The same server once more, which knows now whom it speaks with.
        if let trusted, trusted.certificates == connection.certificates {
            return decided(.success(trusted.isTrusted))
        }
        let agreement = ServerTrustDecision.Agreement(
            version: TLSVersion.tls13.rawValue, cipherSuite: connection.cipherSuite ?? 0)
        let peer = TLSPeer(serverName: home.origin.host, chain: chain, stapledResponse: connection.stapledResponse)
        trust = ServerTrustDecision(
            about: peer, of: home.origin, with: agreement, wasEvaluated: connection.wasEvaluated, pool: pool,
            for: asker
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

    /// The server wants to know whom it speaks with.
    private func ask(_ request: TLSIdentityRequest) {
        hasAskedForIdentity = true
        let question = SecurityQuestion(.clientCertificate(request), of: home.origin) { [weak self] in
            self?.heed($0)
        }
        self.question = question
        if asker?.handshakeAsks(question) == true { return }
        question.withdraw()
        self.question = nil
        begin()
    }

    private func heed(_ answer: SecurityQuestion.Answer) {
        guard outcome != nil else { return }
        question = nil
        asker?.handshakeGoesOn()
        guard case .identity(let identity) = answer else { return begin() }
        let server = connection?.certificates.first ?? []
        connection?.close()
        connection = nil
        guard let shown = HTTP3Identity(identity, for: server) else {
            let error = LoadError(TLSError(code: TLSError.clientCertificateRejected, reason: "no private key"))
            return end(.failure(HTTP3AttemptFailure(error: error, isRefusal: true)))
        }
        // GnuTLS takes it at the beginning of a handshake, and not later.
        self.identity = shown
        startRace()
    }

    /// The connection is good for requests.
    private func begin() {
        guard let connection, let isTrusted = trusted?.isTrusted else { return }
        self.connection = nil
        // The server may have gone while it was looked at.
        guard !connection.isClosed else {
            // For want of a certificate, as it may be: over TCP it would be no other.
            let error = connection.loss ?? .networkConnectionLost
            return end(.failure(HTTP3AttemptFailure(error: error, isRefusal: hasAskedForIdentity)))
        }
        // Or take no requests, and then it is as if it were gone.
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
    /// Nil if its key cannot leave where it is.
    fileprivate init?(_ identity: TLSIdentity, for server: [UInt8]) {
        guard let chain = identity.chain?.der, let key = identity.privateKey else { return nil }
        self.init(chain: chain, key: key, reader: server)
    }
}
