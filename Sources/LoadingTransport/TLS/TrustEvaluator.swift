internal import CLoadingTLS
internal import LoadingEvents
internal import LoadingSemantics

/// Decides whether a certificate chain authenticates a host (TLS-4): it leads to a root, is valid, is for TLS servers,
/// and has the host among its subject alternative names.
///
/// OpenSSL builds the chain and verifies it by RFC 5280; `CertificateRules` then checks the result.
///
/// Unchecked: OpenSSL locks a certificate store internally, and `lock` guards the rest.
package final class TrustEvaluator: @unchecked Sendable {
    private let roots: OpaquePointer
    /// The system's root bundles. Parsing one takes longer than the rest of a first request, so they are loaded only
    /// when a chain needs a root that the directories do not have.
    private let bundles: [String]
    /// The locations of the system's roots and of added ones.
    private let system: SystemRoots
    /// Roots that the application has added.
    private var anchors: [TrustAnchor] = []
    private let lock = Lock()
    private var hasLoadedBundles = false
    /// The roots that `isAdded` has found, in DER.
    private var addedRoots: Set<[UInt8]> = []

    /// More roots than an administrator adds.
    private static let maximumAddedRoots = 256

    /// Evaluates trust in the system's roots. Shared, because the store caches loaded certificates. Replaced when the
    /// environment variables have changed.
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

    /// Returns nil if there is not enough memory or no OpenSSL: see `TLSError.nothingMade()`.
    init?(system: SystemRoots) {
        guard let roots = clt_roots_new() else { return nil }
        self.roots = roots
        self.system = system
        bundles = system.files
        for directory in system.directories { clt_roots_add_directory(roots, directory) }
    }

    deinit { clt_roots_free(roots) }

    /// The evaluator for some roots. Throws if an added anchor cannot be read.
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

    /// Called only during creation.
    private func add(_ anchor: TrustAnchor) -> Bool {
        switch anchor {
        case .file(let path): clt_roots_add_file(roots, path)
        case .der(let bytes): clt_roots_add_certificate(roots, bytes, bytes.count)
        }
    }

    /// Evaluates a chain for a host, at a time in seconds since 1970. A stapled OCSP response can only revoke trust; an
    /// invalid one is ignored (TLS-10).
    package func evaluate(
        _ chain: CertificateChain, host: String, at time: Int64, stapledResponse: [UInt8]? = nil
    ) -> TrustEvaluation {
        var built: CertificateChain?
        return evaluate(
            chain, TrustPolicy(purpose: .server, host: host, time: time, response: stapledResponse ?? []),
            built: &built)
    }

    /// Whether a chain satisfies a policy. If so, `built` is the chain from the leaf to the root.
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
            let builtChain = BuiltChain(found, policy)
            if let failure { return .rejected(.evaluation(failure).explained(builtChain.reason(.none))) }
            built = found
            let assessment = try assess(builtChain, leadsToRoot: true)
            if let refusal = assessment.refusals.first {
                return .rejected(TLSError(refusal, builtChain.reason(assessment.anchor)))
            }
            return .trusted
        } catch {
            return .rejected(error)
        }
    }

    private typealias Assessment = (refusals: [CertificateRefusal], anchor: CertificateChainFacts.Anchor)

    /// The refusals of the rules for a chain, and the kind of its anchor.
    private func assess(_ builtChain: BuiltChain, leadsToRoot: Bool) throws(TLSError) -> Assessment {
        guard let root = builtChain.certificates.last else { return ([], .none) }
        func assessed(_ anchor: CertificateChainFacts.Anchor) -> Assessment { (builtChain.refusals(anchor), anchor) }
        if !leadsToRoot { return assessed(.none) }
        if system.additions == nil { return assessed(.added) }
        let strict = assessed(.system)
        if strict.refusals.isEmpty { return strict }
        let lenient = assessed(.added)
        // Distinguishing the system's own roots from added ones reads files, so it is done only if the results differ.
        guard strict.refusals != lenient.refusals, try isAdded(root, at: builtChain.policy.time) else { return strict }
        return lenient
    }

    /// Whether the application or the administrator has added a root. The files are searched only once for each such
    /// root; for others a chain is refused, so its connection is not used.
    private func isAdded(_ root: Certificate, at time: Int64) throws(TLSError) -> Bool {
        let der = root.der
        if lock.withLock({ addedRoots.contains(der) }) { return true }
        guard let added = TrustEvaluator(system: SystemRoots()), let chain = CertificateChain(der: [der]) else {
            throw .nothingMade()
        }
        // Files that are not certificates are skipped.
        for anchor in anchors + (system.addedFiles ?? []).map({ .file($0) }) { _ = added.add(anchor) }
        let shortage = DescriptorReserve.shortage
        if shortage != 0 { throw .noDescriptor(shortage) }
        var built: CertificateChain?
        guard added.evaluate(chain, TrustPolicy(purpose: .any, host: nil, time: time), built: &built) == .trusted
        else { return false }
        lock.withLock {
            if addedRoots.count < Self.maximumAddedRoots { addedRoots.insert(der) }
        }
        return true
    }

    /// All faults of a chain under a policy; empty if it is trusted. `built` is the chain from the leaf up, even if it
    /// is incomplete.
    ///
    /// Throws if the chain could not be checked completely.
    package func faults(
        of chain: CertificateChain, _ policy: TrustPolicy, built: inout CertificateChain?
    ) throws(TLSError) -> [TrustFault] {
        let findings = try withAllRoots { () throws(TLSError) -> Findings in
            try find(policy, in: chain)
        } isAboutRoot: {
            $0.faults.contains { TLSError.isAboutRoot(verifyCode: $0.error.verifyCode) }
        }
        built = findings.built
        let builtChain = BuiltChain(findings.built, policy)
        if let failure = findings.failure { throw .evaluation(failure).explained(builtChain.reason(.none)) }
        let codes = Set(findings.faults.map(\.error.verifyCode))
        let leadsToRoot = !codes.contains { TLSError.isAboutRoot(verifyCode: $0) }
        let assessment = try assess(builtChain, leadsToRoot: leadsToRoot)
        let refusals = assessment.refusals.filter { codes.isDisjoint(with: $0.verifyCodes) }
        if findings.faults.isEmpty, refusals.isEmpty { return [] }
        let reason = builtChain.reason(assessment.anchor)
        return findings.faults.map { $0.explained(reason) } + refusals.map { TrustFault($0, reason) }
    }

    private struct Findings {
        var faults: [TrustFault]
        /// Why the list may be incomplete.
        var failure: clt_failure?
        var built: CertificateChain?
    }

    /// More faults than a chain can have by mistake.
    private static let maximumFaults = 64

    private func find(_ policy: TrustPolicy, in chain: CertificateChain) throws(TLSError) -> Findings {
        try policy.withCValue { (wanted: inout clt_demand) -> Findings in
            var failure = clt_failure()
            var pointer: OpaquePointer?
            var isComplete = false
            let faults = [clt_fault](unsafeUninitializedCapacity: Self.maximumFaults) { faults, count in
                isComplete = clt_find_faults(
                    roots, chain.pointer, &wanted, faults.baseAddress, faults.count, &count, &pointer, &failure)
            }
            return Findings(
                faults: faults.map { TrustFault($0) }, failure: isComplete ? nil : failure,
                built: pointer.map { CertificateChain(owning: $0) })
        }
    }

    /// Whether a chain that was built ends at an authority that the application has added.
    package func endsAtAddedRoot(_ chain: CertificateChain) -> Bool {
        guard !anchors.isEmpty, let root = chain.certificates.last?.der else { return false }
        return anchors.contains(.der(root))
    }

    /// Runs `body`. If the root is missing, loads the bundles and runs it again, also for roots that could not be read
    /// before for lack of a descriptor.
    private func withAllRoots<Outcome>(
        _ body: () throws(TLSError) -> Outcome, isAboutRoot: (Outcome) -> Bool
    ) throws(TLSError) -> Outcome {
        var outcome = try body()
        for isLast in [false, true] where isAboutRoot(outcome) {
            // The store reads roots on demand. A root that could not be read is not unknown.
            let shortage = loadBundles()
            if shortage != 0 { throw .noDescriptor(shortage) }
            if !isLast { outcome = try body() }
        }
        return outcome
    }

    /// Loads the bundles once. Returns 0, or the errno of a shortage of descriptors. Two threads may load them
    /// concurrently, which is only redundant.
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

    /// The default answer to `TLSHandshakeStep.wantsTrust`. If the server is trusted, `built` is the chain from the
    /// leaf to the root.
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

/// The result of a trust evaluation.
package enum TrustEvaluation: Equatable, Sendable {
    case trusted
    case rejected(TLSError)
}
