internal import CLoadingTLS
internal import LoadingEvents

/// Decides whether a certificate chain proves that a server is the host it should be (TLS-4): it leads to a root, is
/// valid now, is meant for TLS servers, and names the host in its subject alternative names.
///
/// Unchecked: OpenSSL guards a certificate store with a lock of its own, and `lock` guards the rest.
package final class TrustEvaluator: @unchecked Sendable {
    private let roots: OpaquePointer
    /// Bundles of the system's roots. Parsing one takes longer than all the rest of a first request, so they wait until
    /// a chain leads to a root that the directories do not have.
    private let bundles: [String]
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

    /// Nil when there is no memory for it.
    init?(system: SystemRoots) {
        guard let roots = clt_roots_new() else { return nil }
        self.roots = roots
        bundles = system.files
        for directory in system.directories { clt_roots_add_directory(roots, directory) }
    }

    deinit { clt_roots_free(roots) }

    /// The evaluator for some roots. Fails when one of the added anchors cannot be read.
    package static func evaluator(for roots: TLSRoots) throws(TLSError) -> TrustEvaluator {
        let evaluator: TrustEvaluator?
        let anchors: [TLSAnchor]
        switch roots {
        case .system, .systemAnd([]): (evaluator, anchors) = (system, [])
        case .systemAnd(let added):
            (evaluator, anchors) = (TrustEvaluator(system: .current()), added)
        case .only(let all):
            (evaluator, anchors) = (TrustEvaluator(system: SystemRoots()), all)
        }
        guard let evaluator else {
            throw TLSError(code: TLSError.secureConnectionFailed, reason: "out of memory")
        }
        for anchor in anchors where !evaluator.add(anchor) {
            throw TLSError(code: TLSError.secureConnectionFailed, reason: "unreadable root certificate")
        }
        return evaluator
    }

    /// Only while the evaluator is being made.
    private func add(_ anchor: TLSAnchor) -> Bool {
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
        let demand = TrustDemand(purpose: .server, host: host, time: time, response: stapledResponse ?? [])
        do throws(TLSError) {
            let failure = try withAllRoots { () throws(TLSError) -> clt_failure? in
                try demand.withCValue { (wanted: inout clt_demand) -> clt_failure? in
                    var failure = clt_failure()
                    return clt_evaluate(roots, chain.pointer, &wanted, &failure) ? nil : failure
                }
            } isAboutRoot: {
                $0.map { TLSError.isAboutRoot(verifyCode: $0.verify) } ?? false
            }
            return failure.map { .rejected(.evaluation($0)) } ?? .trusted
        } catch {
            return .rejected(error)
        }
    }

    /// All that keeps a chain from being what is demanded of it; nothing if it is trusted. `built` is the chain as it was
    /// put together, from the leaf up, also when it leads nowhere.
    ///
    /// Throws when the chain could not be looked at to its end: there may be more then than anybody knows of.
    package func faults(
        of chain: CertificateChain, _ demand: TrustDemand, built: inout CertificateChain?
    ) throws(TLSError) -> [TrustFault] {
        let finding = try withAllRoots { () throws(TLSError) -> Finding in
            try find(demand, in: chain)
        } isAboutRoot: {
            $0.faults.contains { TLSError.isAboutRoot(verifyCode: $0.error.verifyCode) }
        }
        built = finding.built
        if let failure = finding.failure { throw .evaluation(failure) }
        return finding.faults
    }

    private struct Finding {
        var faults: [TrustFault]
        /// Why there may be more.
        var failure: clt_failure?
        var built: CertificateChain?
    }

    /// More than any chain has that somebody made a mistake with.
    private static let mostFaults = 64

    private func find(_ demand: TrustDemand, in chain: CertificateChain) throws(TLSError) -> Finding {
        try demand.withCValue { (wanted: inout clt_demand) -> Finding in
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

    /// The default answer to `TLSHandshakeStep.wantsTrust`.
    package func verdict(on peer: TLSPeer, at time: Int64) -> TLSTrustVerdict {
        switch evaluate(peer, at: time) {
        case .trusted: .acceptUnlessRevoked(by: self, at: time)
        case .rejected(let error): .reject(error)
        }
    }
}
