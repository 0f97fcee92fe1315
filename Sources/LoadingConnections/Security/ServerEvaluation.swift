internal import CLoadingLinux
internal import LoadingTransport

/// The default evaluation of a server's certificates (TLS-4): the configuration's roots, the host's name, the time of
/// day. Made with the loop lent, since roots are read from a disk; the verdict is given on the loop.
final class ServerEvaluation: Callout {
    private let evaluator: TrustEvaluator
    private let peer: TLSPeer
    private let loop: EventLoop
    private let verdict: LoopBox<(TLSTrustVerdict) -> Void>

    init(
        of peer: TLSPeer, by evaluator: TrustEvaluator, on loop: EventLoop,
        verdict: @escaping (TLSTrustVerdict) -> Void
    ) {
        self.evaluator = evaluator
        self.peer = peer
        self.loop = loop
        self.verdict = LoopBox(verdict)
    }

    func callOut() {
        let outcome = evaluator.verdict(on: peer, at: cll_wall_now() / 1_000_000_000)
        loop.post { self.verdict.value(outcome) }
    }
}
