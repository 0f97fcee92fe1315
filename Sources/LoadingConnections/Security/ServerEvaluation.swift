internal import CLoadingLinux
internal import LoadingEvents
internal import LoadingTransport

/// The default evaluation of a server's certificates (TLS-4): the configuration's roots, the host's name, the current
/// time. Runs while the loop is lent, because it reads roots from disk. The outcome is reported on the loop.
final class ServerEvaluation: Callout {
    struct Outcome: Sendable {
        let verdict: TLSTrustVerdict
        /// The digests of the keys in the chain, the leaf's first, if they are wanted. For an untrusted server only the
        /// leaf's, because the other certificates that it sent prove nothing.
        let keys: [[UInt8]]
        /// Whether the chain leads to an authority that the session adds.
        var hasAddedRoot = false

        /// Nil if the evaluation could not be made.
        func result(for host: String) -> ServerTrustResult? {
            switch verdict {
            case .accept, .acceptUnlessRevoked: .trusted(host, by: hasAddedRoot ? .additionalAuthority : .system)
            case .reject(let error): error.posix == 0 ? .refused(host, by: .evaluation, reason: error.reason) : nil
            }
        }
    }

    private let evaluator: TrustEvaluator
    private let peer: TLSPeer
    private let wantsKeys: Bool
    private let loop: EventLoop
    private let tell: LoopBox<(Outcome) -> Void>

    init(
        of peer: TLSPeer, by evaluator: TrustEvaluator, wantsKeys: Bool, on loop: EventLoop,
        tell: @escaping (Outcome) -> Void
    ) {
        self.evaluator = evaluator
        self.peer = peer
        self.wantsKeys = wantsKeys
        self.loop = loop
        self.tell = LoopBox(tell)
    }

    func callOut() {
        var built: CertificateChain?
        let verdict = evaluator.verdict(on: peer, at: cll_wall_now() / 1_000_000_000, built: &built)
        let keys = wantsKeys ? built?.keyDigests ?? Array(peer.chain.keyDigests.prefix(1)) : []
        let outcome = Outcome(
            verdict: verdict, keys: keys, hasAddedRoot: built.map { evaluator.endsAtAddedRoot($0) } ?? false)
        loop.post { self.tell.value(outcome) }
    }
}
