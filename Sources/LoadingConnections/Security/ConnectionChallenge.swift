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
    /// Called when nobody needs an answer any more.
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
