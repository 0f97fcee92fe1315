package import LoadingSemantics
package import LoadingTransport

/// A decision that a new connection needs: server trust, the client's certificate, or credentials for a proxy. The
/// connection waits for the answer. Confined to the connection's loop.
package final class ConnectionChallenge {
    package enum Subject {
        case serverTrust(TLSPeer)
        case clientCertificate(TLSIdentityRequest)
        case tunnel(TunnelChallenge)
    }

    package enum Answer {
        /// The default evaluation of trust is made; no client certificate is sent; the proxy's refusal is final.
        case defaultHandling
        /// The server is trusted, whatever the result of an evaluation.
        ///
        /// `isEvaluated`: whether the default evaluation was made and trusts the server too.
        case trust(isEvaluated: Bool)
        /// The server is not trusted.
        case distrust
        /// The client certificate and its key.
        case identity(TLSIdentity)
        /// The request to the proxy is repeated with this value of `Proxy-Authorization`.
        ///
        /// `isBound`: whether the value is valid on the same connection only.
        case authorization(String, isBound: Bool)
    }

    package let subject: Subject
    /// The server of the connection, or the destination of the tunnel.
    package let key: ConnectionKey
    private var completion: ((Answer) -> Void)?
    /// Called when the answer is no longer needed.
    package var onWithdrawal: (() -> Void)?

    init(_ subject: Subject, of key: ConnectionKey, answer: @escaping (Answer) -> Void) {
        self.subject = subject
        self.key = key
        completion = answer
    }

    /// Whether an answer is still awaited.
    package var isOpen: Bool { completion != nil }

    /// The first answer counts. Later answers, and answers after a withdrawal, are ignored.
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

/// Presents the challenge that a handshake or a tunnel waits for. If the connection passes to another request, the
/// challenge is presented to that one. Confined to the connection's loop.
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

    /// Returns false if the delegate does not handle the challenge: then the default applies.
    ///
    /// - Parameters:
    ///   - again: Presents the same challenge to another delegate.
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
        // In a later turn, because the pool is in the middle of a change.
        loop.runLater { [weak self] in
            guard let self, self.challenge === challenge else { return }
            let again = presentAgain
            close()
            again?()
        }
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
    /// Returns false if the challenge is not handled: then the default applies. The answer does not come before this
    /// returns.
    func handshakeReceived(challenge question: ConnectionChallenge) -> Bool
    /// The challenge is answered, and the handshake continues.
    func handshakeContinues()
    /// Authenticates to proxies.
    var proxyAuthorizer: (any ProxyAuthorizer)? { get }
}

/// A proxy's 407 to a CONNECT request (AUTH-28).
package struct TunnelChallenge {
    package let head: ResponseHead
    package let proxy: ProxyServer
    package let destination: ProxyDestination
    /// The stream to the proxy.
    let stream: ByteStream

    /// Binds the authentication to the TLS session with the proxy. Nil without TLS. Computed anew at each call, and
    /// only while the challenge is open.
    package var channelBinding: ChannelBinding? { stream.tls?.channelBinding }
}
