internal import CLoadingLinux
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
    /// The requirements of App Transport Security beyond the configuration.
    private let requirements: TransportSecurityRequirements?
    private let challenges: ChallengePresenter
    private var outcome: ((Result<ByteStream, LoadError>) -> Void)?
    private var isEvaluating = false
    private var isComplete = false
    /// Whether the resumed session was trusted by an evaluation.
    private var wasEvaluated = false
    /// When the sessions that the server issues end at the latest: as the resumed one, or by the server's certificate.
    private var sessionEnd: Int64 = 0
    /// Whether the default evaluation trusts the server.
    private var isTrusted = false
    /// Whether a delegate trusts the server whatever its certificate. Only App Transport Security can then still refuse
    /// it.
    private var isDecided = false
    /// Whether a delegate trusts the server because the default evaluation does.
    private var isTrustedForEvaluation = false
    /// The digests of the keys of the chain that the evaluation built.
    private var keys: [[UInt8]] = []
    /// Whether the server is trusted. Nil if that was not decided during this handshake.
    private(set) var trustResult: ServerTrustResult?
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
        requirements = carriesHTTP ? security.requirements(on: key) : nil
        challenges = ChallengePresenter(to: challengeDelegate, about: key, on: stream.loop)
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
            if let requirements, !tls.restrict(to: requirements) {
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
        challenges.withdraw()
        stream.close()
    }

    func challengeDelegateChanged() { challenges.delegateChanged() }

    /// The loop's time at which the peer last sent bytes, though they may be a part of a message only. 0 before the
    /// first.
    var lastArrival: Int64 { stream.lastArrival }

    /// Whether the peer has sent anything since the handshake started.
    var hasReceived: Bool { stream.lastArrival != arrivalBefore }

    var remoteAddress: SocketAddress? { stream.remoteAddress }

    func streamBecameReady(_ stream: ByteStream) { proceed() }

    private func proceed() {
        while outcome != nil, !challenges.isOpen, !isEvaluating {
            switch stream.handshake() {
            case .wantsRead, .wantsWrite: return
            case .wantsTrust(let peer):
                sessionEnd = ConnectionSecurity.sessionEnd(of: peer.chain.certificates.first)
                ask(.serverTrust(peer))
            case .wantsIdentity(let request): ask(.clientCertificate(request))
            case .failed(let error):
                let isOverturned = error.verifyCode != 0 && distrusted == nil
                if isOverturned { return overturn(error) }
                fail(error)
            case .complete: complete()
            }
        }
    }

    /// A stapled OCSP response that arrived after the decision has reversed it.
    private func overturn(_ error: TLSError) {
        let isRequired = isDecided && requirements?.needsTrust == true
        let error = isRequired ? Self.error(for: .trust) : error
        distrusted = stream.tls?.peer
        trustResult = .refused(
            key.host, by: isRequired ? .transportSecurity : .evaluation, reason: error.reason)
        fail(error)
    }

    private func complete() {
        guard !isComplete, let tls = stream.tls, tls.isResumed else { return succeed() }
        isComplete = true
        guard let peer = tls.peer else {
            return fail(TLSError(code: TLSError.secureConnectionFailed, reason: "no peer certificate"))
        }
        ask(.serverTrust(peer))
    }

    private func succeed() {
        if let violation {
            // The certificates are part of the error if they are its reason.
            if violation.isAboutCertificates {
                distrusted = stream.tls?.peer
                trustResult = .refused(key.host, by: .transportSecurity, reason: violation.rawValue)
            }
            return fail(Self.error(for: violation))
        }
        stream.tls?.isTrusted = isTrusted
        let outcome = outcome
        self.outcome = nil
        outcome?(.success(stream))
    }

    private static func error(for violation: TransportSecurityRequirements.Violation) -> TLSError {
        TLSError(code: TLSError.secureConnectionFailed, reason: violation.rawValue)
    }

    /// The requirement that the connection does not meet; nil if it meets all.
    private var violation: TransportSecurityRequirements.Violation? {
        guard let requirements, let session = stream.tls?.session else { return nil }
        return requirements.violation(
            isTrusted: isTrusted, version: session.version.rawValue, cipher: session.cipherSuite, keys: keys)
    }

    private func fail(_ error: TLSError) {
        let outcome = outcome
        let failure = distrusted.map { LoadError(error, of: $0) } ?? LoadError(error)
        cancel()
        outcome?(.failure(failure))
    }

    // MARK: Decisions

    private func ask(_ subject: ConnectionChallenge.Subject) {
        let isPresented = challenges.present(subject) { [weak self] in
            self?.ask(subject)
            self?.proceed()
        } answer: { [weak self] in
            self?.apply($0, about: subject)
            self?.proceed()
        }
        if !isPresented { apply(.defaultHandling, about: subject) }
    }

    private func apply(_ answer: ConnectionChallenge.Answer, about subject: ConnectionChallenge.Subject) {
        switch (subject, answer) {
        case (.serverTrust(let peer), .trust(let isEvaluated)):
            isTrusted = isEvaluated
            isTrustedForEvaluation = isEvaluated
            trustResult = .trusted(key.host, by: .delegate)
            keepSessions(wasEvaluated: isEvaluated)
            if requirements?.needsEvaluation == true { return evaluate(peer, isDecided: true) }
            decide(isEvaluated ? Self.acceptUnlessRevoked : .accept, about: peer)
        case (.serverTrust(let peer), .distrust):
            trustResult = .refused(key.host, by: .delegate)
            decide(
                .reject(TLSError(code: TLSError.certificateUntrusted, reason: "the server is not trusted")),
                about: peer)
        case (.serverTrust(let peer), .defaultHandling), (.serverTrust(let peer), .identity),
            (.serverTrust(let peer), .authorization):
            if isComplete, wasEvaluated {
                isTrusted = true
                if requirements?.pins == nil { return }
            }
            evaluate(peer)
        case (.clientCertificate, .identity(let identity)):
            stream.tls?.provideIdentity(identity)
        case (.clientCertificate, .defaultHandling), (.clientCertificate, .trust), (.clientCertificate, .distrust),
            (.clientCertificate, .authorization):
            stream.tls?.provideIdentity(nil)
        // Only a tunnel presents this challenge.
        case (.tunnel, _): break
        }
    }

    /// - Parameter isDecided: Whether a delegate has decided to trust the server, and the evaluation serves only App
    ///   Transport Security.
    private func evaluate(_ peer: TLSPeer, isDecided: Bool = false) {
        isEvaluating = true
        self.isDecided = isDecided
        security.evaluate(peer, wantsKeys: requirements?.pins != nil, on: stream.loop) { [weak self] outcome in
            guard let self, self.outcome != nil else { return }
            isEvaluating = false
            // The evaluation could not be made.
            if isDecided, case .reject(let error) = outcome.verdict, error.posix != 0 { return fail(error) }
            isTrusted =
                switch outcome.verdict {
                case .accept: true
                // Otherwise a later revocation is ignored.
                case .acceptUnlessRevoked: revocationCounts
                case .reject: false
                }
            keys = outcome.keys
            if isDecided {
                if revocationCounts, case .acceptUnlessRevoked = outcome.verdict {
                    decide(outcome.verdict, about: peer)
                } else {
                    decide(.accept, about: peer)
                }
            } else {
                trustResult = outcome.result(for: key.host)
                keepSessions(wasEvaluated: true)
                decide(outcome.verdict, about: peer)
            }
            proceed()
        }
    }

    /// Whether a stapled response that arrives after the decision can reverse it: unless a delegate trusts the server
    /// whatever its certificate.
    private var revocationCounts: Bool {
        !isDecided || isTrustedForEvaluation || requirements?.needsTrust == true
    }

    /// The verdict of a delegate that has made the default evaluation, which uses the system's roots.
    private static var acceptUnlessRevoked: TLSTrustVerdict {
        TrustEvaluator.system.map { .acceptUnlessRevoked(by: $0, at: ConnectionSecurity.today) } ?? .accept
    }

    private func decide(_ verdict: TLSTrustVerdict, about peer: TLSPeer) {
        if case .reject(let error) = verdict {
            distrusted = peer
            if isComplete { return fail(error) }
        }
        if !isComplete { stream.tls?.decideTrust(verdict) }
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
