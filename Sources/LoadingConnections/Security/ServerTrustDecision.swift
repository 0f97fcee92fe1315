internal import LoadingSemantics
internal import LoadingTransport

/// Whether to trust a server whose handshake is complete and waits for that alone, as QUIC's does: asks who wants to be
/// asked, evaluates, and looks at what App Transport Security requires. Confined to its loop; tells the outcome once, and
/// nothing after `cancel`.
final class ServerTrustDecision {
    /// What is known of the connection besides the certificates.
    struct Agreement {
        let version: UInt16
        let cipherSuite: UInt16
    }

    private let peer: TLSPeer
    private let origin: ConnectionKey
    private let agreement: Agreement
    private let pool: ConnectionPool
    /// Whether this is a session of a connection that the default evaluation has trusted.
    private let wasEvaluated: Bool
    private let requirements: TransportSecurityRequirements?
    private let challenges: ChallengePresenter
    /// Whether the default evaluation trusts the server, or why it is not trusted.
    private var outcome: ((Result<Bool, LoadError>) -> Void)?

    init(
        about peer: TLSPeer, of origin: ConnectionKey, with agreement: Agreement, wasEvaluated: Bool = false,
        pool: ConnectionPool, for challengeDelegate: (any ConnectionChallengeDelegate)?,
        outcome: @escaping (Result<Bool, LoadError>) -> Void
    ) {
        self.peer = peer
        self.origin = origin
        self.agreement = agreement
        self.pool = pool
        self.wasEvaluated = wasEvaluated
        challenges = ChallengePresenter(to: challengeDelegate, about: origin, on: pool.loop)
        self.outcome = outcome
        requirements = pool.security.requirements(on: origin)
    }

    func start() {
        let isPresented = challenges.present(.serverTrust(peer)) { [weak self] in
            self?.start()
        } answer: { [weak self] in
            self?.take($0)
        }
        if !isPresented { evaluateIfNeeded() }
    }

    func cancel() {
        outcome = nil
        challenges.withdraw()
    }

    func challengeDelegateChanged() { challenges.delegateChanged() }

    private func take(_ answer: ConnectionChallenge.Answer) {
        switch answer {
        case .trust(let isEvaluated):
            if requirements?.needsEvaluation == true {
                evaluate(isDecided: true)
            } else {
                end(isTrusted: isEvaluated, keys: [])
            }
        case .distrust:
            fail(TLSError(code: TLSError.certificateUntrusted, reason: "the server is not trusted"))
        case .defaultHandling, .identity, .authorization: evaluateIfNeeded()
        }
    }

    /// A session that was evaluated when it was made is not evaluated again, unless pinned keys must be compared.
    private func evaluateIfNeeded() {
        if wasEvaluated, requirements?.pins == nil { return end(isTrusted: true, keys: []) }
        evaluate(isDecided: false)
    }

    /// - Parameter isDecided: Whether somebody has decided to trust the server, and only what App Transport Security
    ///   wants to know is asked for.
    private func evaluate(isDecided: Bool) {
        do throws(TLSError) { _ = try pool.security.context() } catch { return fail(error) }
        pool.security.evaluate(peer, wantsKeys: requirements?.pins != nil, on: pool.loop) { [weak self] result in
            guard let self, outcome != nil else { return }
            switch result.verdict {
            case .accept, .acceptUnlessRevoked: end(isTrusted: true, keys: result.keys)
            // Nothing was found out.
            case .reject(let error) where !isDecided || error.posix != 0: fail(error)
            case .reject: end(isTrusted: false, keys: result.keys)
            }
        }
    }

    private func end(isTrusted: Bool, keys: [[UInt8]]) {
        let violation = requirements?.violation(
            isTrusted: isTrusted, version: agreement.version, cipher: agreement.cipherSuite, keys: keys)
        if let violation { return fail(TLSError(code: TLSError.secureConnectionFailed, reason: violation.rawValue)) }
        let outcome = outcome
        self.outcome = nil
        outcome?(.success(isTrusted))
    }

    private func fail(_ error: TLSError) {
        var failure = LoadError(error)
        failure.peerCertificates = peer.chain.der
        let outcome = outcome
        cancel()
        outcome?(.failure(failure))
    }
}
