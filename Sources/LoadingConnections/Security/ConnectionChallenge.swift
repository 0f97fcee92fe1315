package import LoadingSemantics
package import LoadingTransport

/// What a connection that is being made cannot decide by itself: whether to trust the server, by which certificate to be
/// known to it, or who the user is to a proxy. It stands still until somebody answers. Confined to the connection's loop.
package final class ConnectionChallenge {
    package enum Subject {
        case serverTrust(TLSPeer)
        case clientCertificate(TLSIdentityRequest)
        case tunnel(TunnelChallenge)
    }

    package enum Answer {
        /// Trust is evaluated; no certificate is shown; the proxy's refusal stands.
        case defaultHandling
        /// The server is trusted whatever an evaluation would say.
        ///
        /// `isEvaluated`: whether the default evaluation was asked, and trusts it too.
        case trust(isEvaluated: Bool)
        /// The server is not trusted.
        case distrust
        /// The client is known by this.
        case identity(TLSIdentity)
        /// The proxy is asked again with this value of `Proxy-Authorization`.
        ///
        /// `isBound`: whether it understands that on the same connection alone.
        case authorization(String, isBound: Bool)
    }

    package let subject: Subject
    /// The server that is being connected to, or that a tunnel is to lead to.
    package let origin: ConnectionKey
    private var completion: ((Answer) -> Void)?
    /// Called when no answer is needed any more.
    package var onWithdrawal: (() -> Void)?

    init(_ subject: Subject, of origin: ConnectionKey, answer: @escaping (Answer) -> Void) {
        self.subject = subject
        self.origin = origin
        completion = answer
    }

    /// Whether an answer is still awaited.
    package var isOpen: Bool { completion != nil }

    /// The first answer counts; those after it, or after a withdrawal, are dropped.
    package func answer(_ answer: Answer) {
        guard let completion else { return }
        self.completion = nil
        onWithdrawal = nil
        completion(answer)
    }

    func withdraw() {
        guard isOpen else { return }
        completion = nil
        onWithdrawal?()
        onWithdrawal = nil
    }
}

/// The challenge that a handshake or a tunnel waits for. If another load takes over the connection, it is presented to that one.
/// Confined to the connection's loop.
final class ChallengePresenter {
    private weak var delegate: (any ConnectionChallengeDelegate)?
    private let key: ConnectionKey
    private let loop: EventLoop
    private var challenge: ConnectionChallenge?
    private var presentAgain: (() -> Void)?

    init(to delegate: (any ConnectionChallengeDelegate)?, about key: ConnectionKey, on loop: EventLoop) {
        self.delegate = delegate
        self.key = key
        self.loop = loop
    }

    var isOpen: Bool { challenge != nil }

    /// False if the delegate handles no challenge: then the default applies.
    ///
    /// - Parameters:
    ///   - again: Presents the same to another delegate.
    ///   - answer: Called once, not before this returns, unless the challenge is withdrawn.
    func present(
        _ subject: ConnectionChallenge.Subject, again: @escaping () -> Void,
        answer: @escaping (ConnectionChallenge.Answer) -> Void
    ) -> Bool {
        let challenge = ConnectionChallenge(subject, of: key) { [weak self] in
            self?.close()
            self?.delegate?.handshakeContinues()
            answer($0)
        }
        self.challenge = challenge
        presentAgain = again
        if delegate?.handshakeReceived(challenge: challenge) == true { return true }
        withdraw()
        return false
    }

    func delegateChanged() {
        guard let challenge else { return }
        challenge.withdraw()
        // In a later turn: the pool is in the middle of a change.
        let step = LoopBox({ [weak self] in
            guard let self, self.challenge === challenge else { return }
            let again = presentAgain
            close()
            again?()
        })
        loop.post { step.value() }
    }

    func withdraw() {
        challenge?.withdraw()
        close()
    }

    private func close() {
        challenge = nil
        presentAgain = nil
    }
}

/// Answers the challenges of a connection that is being made. Called on its loop.
protocol ConnectionChallengeDelegate: AnyObject {
    /// False if the challenge is not handled: then the default applies. Not answered before it returns.
    func handshakeReceived(challenge question: ConnectionChallenge) -> Bool
    /// An answer has come; the network has its turn again.
    func handshakeContinues()
    /// Authenticates to proxies.
    var proxyAuthorizer: (any ProxyAuthorizer)? { get }
}

/// A proxy's 407 to a CONNECT request (AUTH-28).
package struct TunnelChallenge {
    package let head: ResponseHead
    package let proxy: ProxyServer
    package let destination: ProxyDestination
}
