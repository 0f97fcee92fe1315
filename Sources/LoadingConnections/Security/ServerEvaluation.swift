internal import LoadingEvents
internal import LoadingTransport

/// The result of the default evaluation of a server's certificates (TLS-4): the configuration's roots, the host's name,
/// the given time.
struct ServerEvaluation: Sendable {
    let verdict: TLSTrustVerdict
    /// The digests of the keys in the chain, the leaf's first, if they are wanted. For an untrusted server only the
    /// leaf's, because the other certificates that it sent prove nothing.
    var keys: [[UInt8]] = []
    /// Whether the chain leads to an authority that the session adds.
    var hasAddedRoot = false

    /// The evaluation could not be made.
    init(failedWith error: TLSError) { verdict = .reject(error) }

    /// Makes the evaluation. Blocks, because it reads roots from disk.
    ///
    /// - Parameter time: In seconds since 1970.
    init(of peer: TLSPeer, by evaluator: TrustEvaluator, at time: Int64, wantsKeys: Bool) {
        var built: CertificateChain?
        verdict = evaluator.verdict(on: peer, at: time, built: &built)
        if wantsKeys { keys = built?.keyDigests ?? Array(peer.chain.keyDigests.prefix(1)) }
        if let built { hasAddedRoot = evaluator.endsAtAddedRoot(built) }
    }

    /// Nil if the evaluation could not be made.
    func result(for host: String) -> ServerTrustResult? {
        switch verdict {
        case .accept, .acceptUnlessRevoked: .trusted(host, by: hasAddedRoot ? .additionalAuthority : .system)
        case .reject(let error): error.posix == 0 ? .refused(host, by: .evaluation, reason: error.reason) : nil
        }
    }
}
