internal import LoadingEvents
internal import LoadingSemantics
internal import LoadingTransport

/// Decides whether to trust a server whose handshake is complete except for this decision, as with QUIC: presents the
/// challenge, evaluates the certificates, and checks the requirements of App Transport Security. Confined to its loop.
/// Reports the outcome once, and nothing after `cancel`.
final class ServerTrustDecision {
    /// The negotiated parameters of the connection.
    struct Agreement {
        let version: UInt16
        let cipherSuite: UInt16
    }

    private let peer: TLSPeer
    private let key: ConnectionKey
    private let agreement: Agreement
    private let pool: ConnectionPool
    /// Whether the TLS session is resumed, and the default evaluation trusted the server when it was made.
    private let wasEvaluated: Bool
    private let requirements: TransportSecurityRequirements?
    private let challenges: ChallengePresenter
    /// Nil if the server is trusted because of an earlier connection.
    private(set) var result: ServerTrustResult?
    /// Called with whether the default evaluation trusts the server, or with the reason for not trusting the server.
    private var outcome: ((Result<Bool, LoadError>) -> Void)?

    init(
        about peer: TLSPeer, of key: ConnectionKey, with agreement: Agreement, wasEvaluated: Bool = false,
        pool: ConnectionPool, for challengeDelegate: (any ConnectionChallengeDelegate)?,
        outcome: @escaping (Result<Bool, LoadError>) -> Void
    ) {
        self.peer = peer
        self.key = key
        self.agreement = agreement
        self.pool = pool
        self.wasEvaluated = wasEvaluated
        challenges = ChallengePresenter(to: challengeDelegate, about: key, on: pool.loop)
        self.outcome = outcome
        requirements = pool.security.requirements(on: key)
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
            result = .trusted(key.host, by: .delegate)
            if requirements?.needsEvaluation == true {
                evaluate(isDecided: true)
            } else {
                end(isTrusted: isEvaluated, keys: [])
            }
        case .distrust:
            result = .refused(key.host, by: .delegate)
            fail(TLSError(code: TLSError.certificateUntrusted, reason: "the server is not trusted"))
        case .defaultHandling, .identity, .authorization: evaluateIfNeeded()
        }
    }

    /// A session that was evaluated when it was made is not evaluated again, unless pinned keys must be compared.
    private func evaluateIfNeeded() {
        if wasEvaluated, requirements?.pins == nil { return end(isTrusted: true, keys: []) }
        evaluate(isDecided: false)
    }

    /// - Parameter isDecided: Whether a delegate has decided to trust the server, and the evaluation serves only App
    ///   Transport Security.
    private func evaluate(isDecided: Bool) {
        do throws(TLSError) { _ = try pool.security.context() } catch { return fail(error) }
        pool.security.evaluate(peer, wantsKeys: requirements?.pins != nil, on: pool.loop) { [weak self] evaluated in
            guard let self, outcome != nil else { return }
            if !isDecided { self.result = evaluated.result(for: key.host) }
            switch evaluated.verdict {
            case .accept, .acceptUnlessRevoked: end(isTrusted: true, keys: evaluated.keys)
            // The evaluation could not be made.
            case .reject(let error) where !isDecided || error.posix != 0: fail(error)
            case .reject: end(isTrusted: false, keys: evaluated.keys)
            }
        }
    }

    private func end(isTrusted: Bool, keys: [[UInt8]]) {
        let violation = requirements?.violation(
            isTrusted: isTrusted, version: agreement.version, cipher: agreement.cipherSuite, keys: keys)
        if let violation {
            if violation.isAboutCertificates {
                result = .refused(key.host, by: .transportSecurity, reason: violation.rawValue)
            }
            return fail(TLSError(code: TLSError.secureConnectionFailed, reason: violation.rawValue))
        }
        let outcome = outcome
        self.outcome = nil
        outcome?(.success(isTrusted))
    }

    private func fail(_ error: TLSError) {
        let failure = LoadError(error, of: peer)
        let outcome = outcome
        cancel()
        outcome?(.failure(failure))
    }
}
