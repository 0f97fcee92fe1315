internal import LoadingEvents
internal import LoadingSemantics
internal import LoadingTransport

/// Decides whether to trust the server of a new connection: presents the challenge, evaluates the certificates, and
/// checks the requirements of App Transport Security. Confined to its loop. Reports each outcome once, and nothing
/// after `cancel`.
final class ServerTrustDecision {
    /// The negotiated parameters of the connection.
    struct Agreement {
        let version: UInt16
        let cipherSuite: UInt16
    }

    private let key: ConnectionKey
    private let security: ConnectionSecurity
    private let loop: EventLoop
    /// Those of App Transport Security beyond the configuration; nil for none.
    let requirements: TransportSecurityRequirements?
    /// Presents the challenges of the handshake, this one included.
    let challenges: ChallengePresenter
    /// Nil if a TLS handshake is still in progress.
    private var agreement: Agreement?
    private var wasEvaluated = false
    /// Whether a delegate trusts the server because it has made the default evaluation; nil if no delegate trusts it.
    private var delegateTrust: Bool?
    /// Whether the default evaluation trusts the server.
    private(set) var isTrusted = false
    /// The digests of the keys of the chain that the evaluation built.
    private var keys: [[UInt8]] = []
    /// Nil if the server is trusted because of an earlier connection, or if nothing was decided.
    private(set) var result: ServerTrustResult?
    private var outcome: ((TLSTrustVerdict) -> Void)?

    /// - Parameter carriesHTTP: Whether App Transport Security applies.
    init(
        of key: ConnectionKey, with security: ConnectionSecurity, carriesHTTP: Bool = true, on loop: EventLoop,
        for challengeDelegate: (any ConnectionChallengeDelegate)?
    ) {
        self.key = key
        self.security = security
        self.loop = loop
        requirements = carriesHTTP ? security.requirements(on: key) : nil
        challenges = ChallengePresenter(to: challengeDelegate, about: key, on: loop)
    }

    /// - Parameters:
    ///   - agreement: Nil if a TLS handshake is in progress: then `violation(of:)` follows, and before TLS 1.3 a
    ///     stapled OCSP response may.
    ///   - wasEvaluated: Whether the TLS session is resumed, and the default evaluation trusted the server when it was
    ///     made.
    func start(
        about peer: TLSPeer, with agreement: Agreement? = nil, wasEvaluated: Bool = false,
        outcome: @escaping (TLSTrustVerdict) -> Void
    ) {
        self.agreement = agreement
        self.wasEvaluated = wasEvaluated
        self.outcome = outcome
        ask(about: peer)
    }

    func cancel() {
        outcome = nil
        challenges.withdraw()
    }

    func challengeDelegateChanged() { challenges.delegateChanged() }

    /// Whether the outcome is still awaited.
    var isPending: Bool { outcome != nil }

    /// Whether the trust rests on the default evaluation, and not only on a delegate.
    var restsOnEvaluation: Bool { delegateTrust ?? true }

    private func ask(about peer: TLSPeer) {
        let isPresented = challenges.present(.serverTrust(peer)) { [weak self] in
            self?.ask(about: peer)
        } answer: { [weak self] in
            self?.apply($0, about: peer)
        }
        if !isPresented { evaluateIfNeeded(peer) }
    }

    private func apply(_ answer: ConnectionChallenge.Answer, about peer: TLSPeer) {
        switch answer {
        case .trust(let isEvaluated):
            delegateTrust = isEvaluated
            result = .trusted(key.host, by: .delegate)
            if requirements?.needsEvaluation == true { return evaluate(peer) }
            accept(isEvaluated ? acceptUnlessRevoked : .accept, isTrusted: isEvaluated)
        case .distrust:
            result = .refused(key.host, by: .delegate)
            end(.reject(TLSError(code: TLSError.certificateUntrusted, reason: "the server is not trusted")))
        case .defaultHandling, .identity, .authorization: evaluateIfNeeded(peer)
        }
    }

    /// The verdict of a delegate that has made the default evaluation, which uses the system's roots.
    private var acceptUnlessRevoked: TLSTrustVerdict {
        TrustEvaluator.system.map { .acceptUnlessRevoked(by: $0, at: security.wallTime) } ?? .accept
    }

    /// A session that was evaluated when it was made is not evaluated again, unless pinned keys must be compared.
    private func evaluateIfNeeded(_ peer: TLSPeer) {
        if wasEvaluated, requirements?.pins == nil { accept(.accept, isTrusted: true) } else { evaluate(peer) }
    }

    /// If a delegate trusts the server, the evaluation serves only App Transport Security.
    private func evaluate(_ peer: TLSPeer) {
        security.evaluate(peer, wantsKeys: requirements?.pins != nil, on: loop) { [weak self] evaluation in
            guard let self, outcome != nil else { return }
            keys = evaluation.keys
            if delegateTrust == nil { result = evaluation.result(for: key.host) }
            switch evaluation.verdict {
            // The evaluation decides, or could not be made.
            case .reject(let error) where delegateTrust == nil || error.posix != 0: end(evaluation.verdict)
            case .reject: accept(.accept, isTrusted: false)
            case .acceptUnlessRevoked where agreement == nil && !revocationCounts: accept(.accept, isTrusted: false)
            case .accept, .acceptUnlessRevoked: accept(evaluation.verdict, isTrusted: true)
            }
        }
    }

    /// Whether a stapled response that arrives after the decision can reverse it: unless a delegate trusts the server
    /// whatever its certificate.
    private var revocationCounts: Bool { restsOnEvaluation || requirements?.needsTrust == true }

    private func accept(_ verdict: TLSTrustVerdict, isTrusted: Bool) {
        self.isTrusted = isTrusted
        if let agreement, let violation = violation(of: agreement) { return end(.reject(TLSError(violation))) }
        end(verdict)
    }

    private func end(_ verdict: TLSTrustVerdict) {
        let outcome = outcome
        self.outcome = nil
        outcome?(verdict)
    }

    /// The requirement that a connection with a trusted server does not meet; nil if it meets all.
    func violation(of agreement: Agreement) -> TransportSecurityRequirements.Violation? {
        let violation = requirements?.violation(
            isTrusted: isTrusted, version: agreement.version, cipher: agreement.cipherSuite, keys: keys)
        if let violation, violation.isAboutCertificates {
            result = .refused(key.host, by: .transportSecurity, reason: violation.rawValue)
        }
        return violation
    }

    /// A stapled OCSP response that arrived after the decision has reversed it. Returns the error of the connection.
    func overturn(by error: TLSError) -> TLSError {
        let isRequired = delegateTrust != nil && requirements?.needsTrust == true
        let error = isRequired ? TLSError(.trust) : error
        result = .refused(key.host, by: isRequired ? .transportSecurity : .evaluation, reason: error.reason)
        return error
    }
}

extension TLSError {
    init(_ violation: TransportSecurityRequirements.Violation) {
        self.init(code: TLSError.secureConnectionFailed, reason: violation.rawValue)
    }
}
