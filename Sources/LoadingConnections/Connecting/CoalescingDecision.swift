internal import LoadingEvents
internal import LoadingSemantics
internal import LoadingTransport

/// Decides whether a connection to another origin may also carry the requests of this origin (CONN-3). Its certificate
/// must cover this origin too, and a delegate that handles server trust challenges is challenged. Confined to the
/// pool's loop. Reports the outcome once, never within `start`, and nothing after `cancel`.
final class CoalescingDecision {
    let connection: any MultiplexedConnection
    private let key: ConnectionKey
    private let pool: ConnectionPool
    private weak var challengeDelegate: (any ConnectionChallengeDelegate)?
    private var trust: ServerTrustDecision?
    /// Whether the server is trusted for this origin too.
    private(set) var trustResult: ServerTrustResult?
    private var outcome: ((Bool) -> Void)?

    init(
        about connection: any MultiplexedConnection, for key: ConnectionKey, in pool: ConnectionPool,
        challengeDelegate: any ConnectionChallengeDelegate, outcome: @escaping (Bool) -> Void
    ) {
        self.connection = connection
        self.key = key
        self.pool = pool
        self.challengeDelegate = challengeDelegate
        self.outcome = outcome
    }

    func start() {
        guard let facts = connection.peer, let chain = CertificateChain(der: facts.certificates) else {
            return pool.loop.runLater { [weak self] in self?.end(false) }
        }
        let peer = TLSPeer(serverName: key.host, chain: chain, stapledResponse: facts.stapledResponse)
        // A certificate that does not cover this origin causes no challenge.
        pool.security.evaluate(peer, wantsKeys: false, on: pool.loop) { [weak self] result in
            guard let self, outcome != nil else { return }
            if case .reject = result.verdict { return end(false) }
            ask(about: peer, facts.agreement)
        }
    }

    private func ask(about peer: TLSPeer, _ agreement: ServerTrustDecision.Agreement) {
        let trust = ServerTrustDecision(of: key, with: pool.security, on: pool.loop, for: challengeDelegate)
        self.trust = trust
        trust.start(about: peer, with: agreement) { [weak self] verdict in
            self?.trustResult = self?.trust?.result
            if case .reject = verdict { self?.end(false) } else { self?.end(true) }
        }
    }

    /// Another request waits for the connection now.
    func challengeDelegateChanged() { trust?.challengeDelegateChanged() }

    func cancel() {
        outcome = nil
        trust?.cancel()
        trust = nil
    }

    private func end(_ isTrusted: Bool) {
        let outcome = outcome
        cancel()
        outcome?(isTrusted && !connection.isClosed && !connection.isRetired)
    }
}
