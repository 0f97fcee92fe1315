internal import CLoadingTLS
internal import LoadingEvents
internal import LoadingSemantics

/// Decides whether a certificate chain proves that a server is the host it should be (TLS-4): it leads to a root, is
/// valid now, is meant for TLS servers, and names the host in its subject alternative names.
///
/// OpenSSL builds the chain and checks it by RFC 5280; `CertificateRules` judge what it has built.
///
/// Unchecked: OpenSSL guards a certificate store with a lock of its own, and `lock` guards the rest.
package final class TrustEvaluator: @unchecked Sendable {
    private let roots: OpaquePointer
    /// Bundles of the system's roots. Parsing one takes longer than all the rest of a first request, so they wait until
    /// a chain leads to a root that the directories do not have.
    private let bundles: [String]
    /// Where the system's roots are from, with those that somebody has added to them.
    private let system: SystemRoots
    /// What the program itself has added.
    private var anchors: [TrustAnchor] = []
    private let lock = Lock()
    private var hasLoadedBundles = false

    /// Trust in the system's roots, shared by all who need no others: a store keeps what it has once loaded. Another
    /// one is made when the environment has come to name other roots.
    package static var system: TrustEvaluator? { shared.evaluator(for: .current()) }

    private static let shared = Shared()

    private final class Shared: @unchecked Sendable {
        // Sendable because everything is guarded by `lock`.
        private let lock = Lock()
        private var known: (roots: SystemRoots, evaluator: TrustEvaluator)?

        func evaluator(for roots: SystemRoots) -> TrustEvaluator? {
            lock.lock()
            defer { lock.unlock() }
            if let known, known.roots == roots { return known.evaluator }
            guard let evaluator = TrustEvaluator(system: roots) else { return nil }
            known = (roots, evaluator)
            return evaluator
        }
    }

    /// Nil when there is no memory for it, or no OpenSSL: `TLSError.nothingMade()` tells which.
    init?(system: SystemRoots) {
        guard let roots = clt_roots_new() else { return nil }
        self.roots = roots
        self.system = system
        bundles = system.files
        for directory in system.directories { clt_roots_add_directory(roots, directory) }
    }

    deinit { clt_roots_free(roots) }

    /// The evaluator for some roots. Fails when one of the added anchors cannot be read.
    package static func evaluator(for roots: TLSRoots) throws(TLSError) -> TrustEvaluator {
        let evaluator: TrustEvaluator?
        let anchors: [TrustAnchor]
        switch roots {
        case .system, .systemAnd([]): (evaluator, anchors) = (system, [])
        case .systemAnd(let added):
            (evaluator, anchors) = (TrustEvaluator(system: .current()), added)
        case .only(let all):
            (evaluator, anchors) = (TrustEvaluator(system: SystemRoots()), all)
        }
        guard let evaluator else { throw .nothingMade() }
        for anchor in anchors where !evaluator.add(anchor) {
            throw TLSError(code: TLSError.secureConnectionFailed, reason: "unreadable root certificate")
        }
        if !anchors.isEmpty { evaluator.anchors = anchors }
        return evaluator
    }

    /// Only while the evaluator is being made.
    private func add(_ anchor: TrustAnchor) -> Bool {
        switch anchor {
        case .file(let path): clt_roots_add_file(roots, path)
        case .der(let bytes): clt_roots_add_certificate(roots, bytes, bytes.count)
        }
    }

    /// Evaluates a chain for a host at a time in seconds since 1970. A stapled OCSP response can only do harm: one that
    /// cannot be understood is passed over (TLS-10).
    package func evaluate(
        _ chain: CertificateChain, host: String, at time: Int64, stapledResponse: [UInt8]? = nil
    ) -> TrustEvaluation {
        var built: CertificateChain?
        return evaluate(
            chain, TrustPolicy(purpose: .server, host: host, time: time, response: stapledResponse ?? []),
            built: &built)
    }

    /// Whether a chain is what is demanded of it; if so, `built` is the one from the leaf to the root.
    private func evaluate(
        _ chain: CertificateChain, _ policy: TrustPolicy, built: inout CertificateChain?
    ) -> TrustEvaluation {
        do throws(TLSError) {
            let (failure, found) = try withAllRoots { () throws(TLSError) -> (clt_failure?, CertificateChain?) in
                try policy.withCValue { (wanted: inout clt_demand) -> (clt_failure?, CertificateChain?) in
                    var failure = clt_failure()
                    var pointer: OpaquePointer?
                    let isTrusted = clt_evaluate(roots, chain.pointer, &wanted, &pointer, &failure)
                    return (isTrusted ? nil : failure, pointer.map { CertificateChain(owning: $0) })
                }
            } isAboutRoot: {
                $0.0.map { TLSError.isAboutRoot(verifyCode: $0.verify) } ?? false
            }
            let reading = ChainReading(found, policy)
            if let failure { return .rejected(.evaluation(failure).explained(reading.reason(.none))) }
            built = found
            let judgement = try judge(reading, leadsToRoot: true)
            if let refusal = judgement.refusals.first {
                return .rejected(TLSError(refusal, reading.reason(judgement.anchor)))
            }
            return .trusted
        } catch {
            return .rejected(error)
        }
    }

    private typealias Judgement = (refusals: [CertificateRefusal], anchor: CertificateChainFacts.Anchor)

    /// What the rules have against a chain, and what its root was taken for.
    private func judge(_ reading: ChainReading, leadsToRoot: Bool) throws(TLSError) -> Judgement {
        guard let root = reading.certificates.last else { return ([], .none) }
        func judged(_ anchor: CertificateChainFacts.Anchor) -> Judgement { (reading.refusals(anchor), anchor) }
        if !leadsToRoot { return judged(.none) }
        if system.additions == nil { return judged(.added) }
        let strict = judged(.system)
        if strict.refusals.isEmpty { return strict }
        let lenient = judged(.added)
        // It takes a look at the disk to tell one of the system's own roots from one that was added, so this is asked
        // only where it makes a difference.
        guard strict.refusals != lenient.refusals, try isAdded(root, at: reading.policy.time) else { return strict }
        return lenient
    }

    /// Whether a root was added to those of the system, by the program or by the administrator.
    private func isAdded(_ root: Certificate, at time: Int64) throws(TLSError) -> Bool {
        guard let added = TrustEvaluator(system: SystemRoots()), let chain = CertificateChain(der: [root.der]) else {
            throw .nothingMade()
        }
        // Some of the files may be no certificates.
        for anchor in anchors + (system.addedFiles ?? []).map({ .file($0) }) { _ = added.add(anchor) }
        let shortage = DescriptorReserve.shortage
        if shortage != 0 { throw .noDescriptor(shortage) }
        var built: CertificateChain?
        return added.evaluate(chain, TrustPolicy(purpose: .any, host: nil, time: time), built: &built) == .trusted
    }

    /// All that keeps a chain from being what is demanded of it; nothing if it is trusted. `built` is the chain as it was
    /// put together, from the leaf up, also when it leads nowhere.
    ///
    /// Throws when the chain could not be looked at to its end: there may be more then than anybody knows of.
    package func faults(
        of chain: CertificateChain, _ policy: TrustPolicy, built: inout CertificateChain?
    ) throws(TLSError) -> [TrustFault] {
        let finding = try withAllRoots { () throws(TLSError) -> Finding in
            try find(policy, in: chain)
        } isAboutRoot: {
            $0.faults.contains { TLSError.isAboutRoot(verifyCode: $0.error.verifyCode) }
        }
        built = finding.built
        let reading = ChainReading(finding.built, policy)
        if let failure = finding.failure { throw .evaluation(failure).explained(reading.reason(.none)) }
        let codes = Set(finding.faults.map(\.error.verifyCode))
        let leadsToRoot = !codes.contains { TLSError.isAboutRoot(verifyCode: $0) }
        let judgement = try judge(reading, leadsToRoot: leadsToRoot)
        let refusals = judgement.refusals.filter { codes.isDisjoint(with: $0.verifyCodes) }
        if finding.faults.isEmpty, refusals.isEmpty { return [] }
        let reason = reading.reason(judgement.anchor)
        return finding.faults.map { $0.explained(reason) } + refusals.map { TrustFault($0, reason) }
    }

    private struct Finding {
        var faults: [TrustFault]
        /// Why there may be more.
        var failure: clt_failure?
        var built: CertificateChain?
    }

    /// More than any chain has that somebody made a mistake with.
    private static let mostFaults = 64

    private func find(_ policy: TrustPolicy, in chain: CertificateChain) throws(TLSError) -> Finding {
        try policy.withCValue { (wanted: inout clt_demand) -> Finding in
            var failure = clt_failure()
            var pointer: OpaquePointer?
            var isComplete = false
            let faults = [clt_fault](unsafeUninitializedCapacity: Self.mostFaults) { faults, count in
                isComplete = clt_find_faults(
                    roots, chain.pointer, &wanted, faults.baseAddress, faults.count, &count, &pointer, &failure)
            }
            return Finding(
                faults: faults.map { TrustFault($0) }, failure: isComplete ? nil : failure,
                built: pointer.map { CertificateChain(owning: $0) })
        }
    }

    /// Looks at a chain. A second look takes the bundles in, and what a moment before could not be read for want of a
    /// descriptor.
    private func withAllRoots<Outcome>(
        _ look: () throws(TLSError) -> Outcome, isAboutRoot: (Outcome) -> Bool
    ) throws(TLSError) -> Outcome {
        var outcome = try look()
        for isLast in [false, true] where isAboutRoot(outcome) {
            // Roots are read when they are asked for: those that could not be read are not unknown.
            let shortage = loadBundles()
            if shortage != 0 { throw .noDescriptor(shortage) }
            if !isLast { outcome = try look() }
        }
        return outcome
    }

    /// Has the bundles loaded, if there are any and they are not yet. 0, or the errno for which roots cannot be read now.
    /// Two threads may come here at once: that costs time, but neither gives its verdict without the bundles.
    private func loadBundles() -> Int32 {
        var shortage = DescriptorReserve.shortage
        guard shortage == 0, !bundles.isEmpty, !lock.withLock({ hasLoadedBundles }) else { return shortage }
        for file in bundles where !clt_roots_add_file(roots, file) {
            shortage = max(shortage, DescriptorReserve.shortage)
        }
        if shortage == 0 { lock.withLock { hasLoadedBundles = true } }
        return shortage
    }

    package func evaluate(_ peer: TLSPeer, at time: Int64) -> TrustEvaluation {
        evaluate(peer.chain, host: peer.serverName, at: time, stapledResponse: peer.stapledResponse)
    }

    /// The default answer to `TLSHandshakeStep.wantsTrust`. If the server is trusted, `built` is the chain from it to the
    /// root.
    package func verdict(on peer: TLSPeer, at time: Int64, built: inout CertificateChain?) -> TLSTrustVerdict {
        let policy = TrustPolicy(
            purpose: .server, host: peer.serverName, time: time, response: peer.stapledResponse ?? [])
        switch evaluate(peer.chain, policy, built: &built) {
        case .trusted: return .acceptUnlessRevoked(by: self, at: time)
        case .rejected(let error):
            built = nil
            return .reject(error)
        }
    }
}
