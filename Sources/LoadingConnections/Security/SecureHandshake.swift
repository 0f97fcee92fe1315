internal import LoadingEvents
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

/// Secures a connected stream with TLS: handshake, server trust, the client's certificate, and a session to resume on a
/// later connection. Confined to the stream's loop. Reports the outcome once, and nothing after `cancel`.
///
/// A resumed session causes the same server trust challenge as a new one: it skips the certificates, not the decision
/// (AUTH-3). If no delegate handles the challenge, a session that was evaluated when it was made is not evaluated
/// again.
final class SecureHandshake: ByteStreamOwner {
    private let stream: ByteStream
    private let key: ConnectionKey
    private let security: ConnectionSecurity
    /// The generation of TLS sessions when the handshake started.
    private let generation: Int
    private let carriesHTTP: Bool
    private let trust: ServerTrustDecision
    private var outcome: ((Result<ByteStream, LoadError>) -> Void)?
    private var isComplete = false
    /// Whether the session that was offered for resumption was trusted by an evaluation.
    private var wasEvaluated = false
    /// When the sessions that the server issues end at the latest: as the resumed one, or by the server's certificate.
    private var sessionEnd: Int64 = 0
    /// The server's certificates, if they are why the handshake failed.
    private var distrusted: TLSPeer?
    /// The time of the last bytes before the handshake, such as those of a proxy that has opened a tunnel.
    private let arrivalBefore: Int64

    /// - Parameter carriesHTTP: Whether App Transport Security applies.
    init(
        _ stream: ByteStream, to key: ConnectionKey, with security: ConnectionSecurity, carriesHTTP: Bool,
        for challengeDelegate: (any ConnectionChallengeDelegate)?,
        outcome: @escaping (Result<ByteStream, LoadError>) -> Void
    ) {
        self.stream = stream
        self.key = key
        self.security = security
        generation = security.generation
        self.carriesHTTP = carriesHTTP
        trust = ServerTrustDecision(
            of: key, with: security, carriesHTTP: carriesHTTP, on: stream.loop, for: challengeDelegate)
        self.outcome = outcome
        arrivalBefore = stream.lastArrival
        stream.owner = self
    }

    func start() {
        do throws(TLSError) {
            let session = security.takeSession(for: key, carriesHTTP: carriesHTTP)
            wasEvaluated = session?.wasEvaluated ?? false
            sessionEnd = session?.end ?? 0
            let tls = try TLSStream(
                context: try security.context(), descriptor: stream.descriptor, over: stream.tls,
                serverName: key.host, resuming: session?.resumption)
            if let protocols, !tls.offer(protocols) {
                throw TLSError(code: TLSError.secureConnectionFailed, reason: "no protocol to offer")
            }
            if let requirements = trust.requirements, !tls.restrict(to: requirements) {
                throw TLSError(code: TLSError.secureConnectionFailed, reason: "no version or cipher suite is left")
            }
            stream.secure(with: tls)
            keepSessions(wasEvaluated: wasEvaluated)
        } catch {
            return fail(error)
        }
        proceed()
    }

    /// The protocols to offer (ALPN); nil for those of the configuration.
    private var protocols: [String]? {
        if !carriesHTTP { return [] }
        return key.needsHTTP1 || !HTTP2Session.isAvailable ? ["http/1.1"] : nil
    }

    func cancel() {
        outcome = nil
        trust.cancel()
        stream.close()
    }

    func challengeDelegateChanged() { trust.challengeDelegateChanged() }

    /// Whether the server is trusted. Nil if that was not decided during this handshake.
    var trustResult: ServerTrustResult? { trust.result }

    /// The loop's time at which the peer last sent bytes, though they may be a part of a message only. 0 before the
    /// first.
    var lastArrival: Int64 { stream.lastArrival }

    /// Whether the peer has sent anything since the handshake started.
    var hasReceived: Bool { stream.lastArrival != arrivalBefore }

    var remoteAddress: SocketAddress? { stream.remoteAddress }

    func streamBecameReady(_ stream: ByteStream) { proceed() }

    private func proceed() {
        while outcome != nil, !trust.isPending, !trust.challenges.isOpen {
            switch stream.handshake() {
            case .wantsRead, .wantsWrite: return
            case .wantsTrust(let peer):
                sessionEnd = ConnectionSecurity.sessionEnd(
                    of: peer.chain.certificates.first, at: security.wallTime)
                decide(about: peer)
            case .wantsIdentity(let request): ask(request)
            case .failed(let error) where error.verifyCode != 0 && distrusted == nil:
                distrusted = stream.tls?.peer
                fail(trust.overturn(by: error))
            case .failed(let error): fail(error)
            case .complete: complete()
            }
        }
    }

    private func complete() {
        guard !isComplete, let tls = stream.tls, tls.isResumed else { return succeed() }
        isComplete = true
        guard let peer = tls.peer else {
            return fail(TLSError(code: TLSError.secureConnectionFailed, reason: "no peer certificate"))
        }
        decide(about: peer)
    }

    private func succeed() {
        if let tls = stream.tls {
            let agreement = ServerTrustDecision.Agreement(version: tls.version.rawValue, cipherSuite: tls.cipherSuite)
            if let violation = trust.violation(of: agreement) {
                // The certificates are part of the error if they are its reason.
                if violation.isAboutCertificates { distrusted = tls.peer }
                return fail(TLSError(violation))
            }
            tls.isTrusted = trust.isTrusted
        }
        let outcome = outcome
        self.outcome = nil
        outcome?(.success(stream))
    }

    private func fail(_ error: TLSError) {
        let outcome = outcome
        let failure = distrusted.map { LoadError(error, of: $0) } ?? LoadError(error)
        cancel()
        outcome?(.failure(failure))
    }

    // MARK: Decisions

    private func decide(about peer: TLSPeer) {
        trust.start(about: peer, wasEvaluated: isComplete && wasEvaluated) { [weak self] in
            self?.decided($0, about: peer)
        }
    }

    private func decided(_ verdict: TLSTrustVerdict, about peer: TLSPeer) {
        if case .reject(let error) = verdict {
            distrusted = peer
            if isComplete { return fail(error) }
        } else {
            keepSessions(wasEvaluated: trust.restsOnEvaluation)
        }
        if !isComplete { stream.tls?.decideTrust(verdict) }
        proceed()
    }

    private func ask(_ request: TLSIdentityRequest) {
        let isPresented = trust.challenges.present(.clientCertificate(request)) { [weak self] in
            self?.ask(request)
            self?.proceed()
        } answer: { [weak self] in
            self?.apply($0)
            self?.proceed()
        }
        if !isPresented { apply(.defaultHandling) }
    }

    private func apply(_ answer: ConnectionChallenge.Answer) {
        if case .identity(let identity) = answer {
            stream.tls?.provideIdentity(identity)
        } else {
            stream.tls?.provideIdentity(nil)
        }
    }

    /// Keeps the sessions that may be resumed, with the result of their evaluation. If the server requested a
    /// certificate, none is kept, so that it requests the certificate again.
    private func keepSessions(wasEvaluated: Bool) {
        stream.tls?.onResumption = { [security, generation, key, carriesHTTP, sessionEnd] resumption, tls in
            if tls.isIdentityRequested { return }
            security.keep(
                ConnectionSecurity.Session(resumption: resumption, wasEvaluated: wasEvaluated, end: sessionEnd),
                of: generation, for: key, carriesHTTP: carriesHTTP)
        }
    }
}

extension TLSStream {
    /// Restricts the handshake to what the requirements allow.
    fileprivate func restrict(to requirements: TransportSecurityRequirements) -> Bool {
        restrict(
            minimumVersion: requirements.minimumVersion.map { TLSVersion(rawValue: $0.rawValue) },
            needsForwardSecrecy: requirements.needsForwardSecrecy)
    }
}
