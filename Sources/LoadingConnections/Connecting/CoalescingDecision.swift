internal import LoadingEvents
internal import LoadingTransport

/// Decides whether a connection to another origin may also carry the requests of this origin (CONN-3). Its certificate
/// must cover this origin too, and a delegate that handles server trust challenges is challenged. Confined to the
/// pool's loop. Reports the outcome once, never within `start`, and nothing after `cancel`.
final class CoalescingDecision {
    let connection: any MultiplexedConnection
    private let key: ConnectionKey
    private let pool: ConnectionPool
    private let trust: ServerTrustDecision
    private var outcome: ((Bool) -> Void)?

    init(
        about connection: any MultiplexedConnection, for key: ConnectionKey, in pool: ConnectionPool,
        challengeDelegate: any ConnectionChallengeDelegate, outcome: @escaping (Bool) -> Void
    ) {
        self.connection = connection
        self.key = key
        self.pool = pool
        trust = ServerTrustDecision(of: key, with: pool.security, on: pool.loop, for: challengeDelegate)
        self.outcome = outcome
    }

    func start() {
        guard let facts = connection.peer, let chain = CertificateChain(der: facts.certificates) else {
            return pool.loop.runLater { [weak self] in self?.end(false) }
        }
        let peer = TLSPeer(serverName: key.host, chain: chain, stapledResponse: facts.stapledResponse)
        // A certificate that does not cover this origin causes no challenge.
        pool.security.evaluate(peer, wantsKeys: false, on: pool.loop) { [weak self] evaluation in
            guard let self, outcome != nil else { return }
            if case .reject = evaluation.verdict { return end(false) }
            trust.start(about: peer, with: facts.agreement) { [weak self] verdict in
                if case .reject = verdict { self?.end(false) } else { self?.end(true) }
            }
        }
    }

    /// Whether the server is trusted for this origin too.
    var trustResult: ServerTrustResult? { trust.result }

    /// Another request waits for the connection now.
    func challengeDelegateChanged() { trust.challengeDelegateChanged() }

    func cancel() {
        outcome = nil
        trust.cancel()
    }

    private func end(_ isTrusted: Bool) {
        let outcome = outcome
        cancel()
        outcome?(isTrusted && !connection.isClosed && !connection.isRetired)
    }
}
