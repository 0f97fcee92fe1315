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
        var built: CertificateChain?
        let demand = TrustDemand(purpose: .server, host: host, time: time, response: stapledResponse ?? [])
        return evaluate(chain, demand, built: &built)
    }

    /// Evaluates a chain for what is demanded of it. `built` is the chain as it was put together, from the leaf up, also
    /// when it leads nowhere.
    package func evaluate(
        _ chain: CertificateChain, _ demand: TrustDemand, built: inout CertificateChain?
    ) -> TrustEvaluation {
        let serverName = demand.host.map { ServerName(host: $0) }
        if let serverName, serverName == nil {
            return .rejected(TLSError(code: TLSError.certificateUntrusted, reason: "invalid host name"))
        }
        var failure: clt_failure?
        // A second look takes the bundles in, and what a moment before could not be read for want of a descriptor.
        for _ in 0..<2 {
            failure = evaluate(chain, demand, serverName ?? nil, &built)
            guard let code = failure?.verify, TLSError.isAboutRoot(verifyCode: code) else { break }
            // Roots are read when they are asked for: those that could not be read are not unknown.
            let shortage = loadBundles()
            if shortage != 0 { return .rejected(.noDescriptor(shortage)) }
        }
        return failure.map { .rejected(.evaluation($0)) } ?? .trusted
    }

    private func evaluate(
        _ chain: CertificateChain, _ demand: TrustDemand, _ serverName: ServerName?, _ built: inout CertificateChain?
    ) -> clt_failure? {
        let (name, address): (String?, [UInt8]) =
            switch serverName {
            case .name(let name)?: (name, [])
            case .address(let bytes)?: (nil, bytes)
            case nil: (nil, [])
            }
        var failure = clt_failure()
        var pointer: OpaquePointer?
        let evaluate = { (name: UnsafePointer<CChar>?) in
            address.withUnsafeBufferPointer { address in
                demand.response.withUnsafeBufferPointer { response in
                    var wanted = clt_demand(
                        purpose: demand.purpose.number, names_host: serverName != nil, name: name,
                        address: address.baseAddress, address_count: address.count, time: demand.time,
                        response: response.baseAddress, response_count: response.count,
                        needs_good_response: demand.needsGoodResponse)
                    return clt_evaluate(self.roots, chain.pointer, &wanted, &pointer, &failure)
                }
            }
        }
        let trusted = name.map { $0.withCString { evaluate($0) } } ?? evaluate(nil)
        built = pointer.map { CertificateChain(owning: $0) }
        return trusted ? nil : failure
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
