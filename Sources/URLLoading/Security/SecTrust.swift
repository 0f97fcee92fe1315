public import Foundation
internal import LoadingEvents
internal import LoadingTransport

/// A certificate chain with everything that its evaluation depends on. Thread-safe. An evaluation reads the system's
/// root certificates, so it can block on disk access.
public final class SecTrust: NSObject, @unchecked Sendable {
    // Sendable because everything mutable is guarded by `lock`.

    private let lock = Lock()
    private var values: Values
    /// The result for the current values.
    private var outcome: Outcome?
    /// The number of changes of `values`.
    private var changes = 0

    struct Values {
        /// The leaf first.
        var chain: [SecCertificate]
        var policies: [SecPolicy]
        /// The custom anchors. Nil if none were set.
        var anchors: [SecCertificate]?
        /// Whether the system's root certificates are not trusted.
        var trustsAnchorsOnly = false
        /// Nil: the current time.
        var time: Date?
        var response: [UInt8] = []
        /// Whether the program has set the response, which then is not the server's.
        var isResponseSet = false
        var exceptions: SecTrustExceptions?

        /// Whether the evaluation is the one that the loader performs by default.
        func isDefault(for host: String) -> Bool {
            anchors == nil && !trustsAnchorsOnly && time == nil && exceptions == nil && !isResponseSet
                && policies.contains { $0.kind == .tls(isServer: true, host: host) }
        }

        var names: [String] {
            policies.compactMap { policy in
                if case .tls(_, let host) = policy.kind { host } else { nil }
            }
        }
    }

    struct Outcome {
        var result: SecTrustResultType
        var error: TLSError?
        /// All faults, including excepted ones. Empty if the evaluation itself failed.
        var faults: [TrustFault] = []
        /// The leaf first, as far as a chain could be built.
        var chain: [SecCertificate]
        var time: Date

        var isTrusted: Bool { error == nil }
    }

    init(_ chain: [SecCertificate], policies: [SecPolicy], response: [UInt8] = []) {
        values = Values(chain: chain, policies: policies, response: response)
    }

    /// The trust object for the certificates that a server has presented.
    convenience init(_ peer: TLSPeer) {
        self.init(
            peer.chain.certificates.map { SecCertificate($0) },
            policies: [SecPolicy(.tls(isServer: true, host: peer.serverName))], response: peer.stapledResponse ?? [])
    }

    /// The host names that the leaf must match.
    var names: [String] { read { $0.names } }

    /// The leaf.
    var certificate: SecCertificate? { read { $0.chain.first } }

    /// Whether both have the same leaf.
    func isAboutCertificate(of other: SecTrust) -> Bool {
        guard other !== self else { return true }
        guard let certificate else { return false }
        return certificate == other.certificate
    }

    /// Whether this was evaluated as the loader does by default, and is trusted. A program may have made it itself:
    /// then it must have the response that the server has stapled to the certificates of `presented`.
    func isTrustedByDefault(for host: String, as presented: SecTrust) -> Bool {
        if presented !== self {
            let (response, isResponseSet) = presented.read { ($0.response, $0.isResponseSet) }
            if isResponseSet || read({ $0.response }) != response { return false }
        }
        return lock.withLock { outcome?.result == .unspecified && values.isDefault(for: host) }
    }

    func read<Value>(_ body: (Values) -> Value) -> Value { lock.withLock { body(values) } }

    /// Changes the values and invalidates the result.
    func change(_ body: (inout Values) -> Void) {
        let before = lock.withLock {
            outcome = nil
            changes += 1
            let before = values
            body(&values)
            return before
        }
        // Released outside the lock.
        _ = before
    }

    /// The cached result, if there is one.
    var knownOutcome: Outcome? { lock.withLock { outcome } }

    /// The result, evaluated if necessary.
    func evaluate() -> Outcome {
        lock.lock()
        let (known, given, version) = (outcome, values, changes)
        lock.unlock()
        if let known { return known }
        let new = given.evaluate()
        lock.withLock { if changes == version { outcome = new } }
        return new
    }
}

extension SecTrust.Values {
    fileprivate func evaluate() -> SecTrust.Outcome {
        let moment = time ?? Date()
        var outcome = SecTrust.Outcome(result: .unspecified, error: nil, chain: chain, time: moment)
        guard let given = CertificateChain(der: chain.map(\.der)) else {
            outcome.error = TLSError(code: TLSError.certificateUntrusted, reason: "no certificate to evaluate")
            outcome.result = .fatalTrustFailure
            return outcome
        }
        for demand in demands(at: moment) {
            var built: CertificateChain?
            do throws(TLSError) {
                outcome.faults += try faults(given, demand, built: &built)
            } catch {
                // Further faults are unknown, so no exception can apply.
                outcome.error = error
                outcome.faults = []
            }
            outcome.chain = certificates(of: built)
            if outcome.error != nil { break }
        }
        judge(&outcome)
        return outcome
    }

    /// Sets error and result: from the first fatal fault, otherwise from the first fault without an exception.
    private func judge(_ outcome: inout SecTrust.Outcome) {
        guard outcome.error == nil else { return outcome.result = .recoverableTrustFailure }
        if let fatal = outcome.faults.first(where: \.isFatal) {
            outcome.error = fatal.error
            outcome.result = .fatalTrustFailure
        } else if let first = outcome.faults.first(where: { exceptions?.cover($0, of: chain.first, for: names) != true }
        ) {
            outcome.error = first.error
            outcome.result = .recoverableTrustFailure
        } else if !outcome.faults.isEmpty {
            outcome.result = .proceed
        }
    }

    private func certificates(of built: CertificateChain?) -> [SecCertificate] {
        let certificates = built?.certificates.map { SecCertificate($0) } ?? []
        return certificates.isEmpty ? chain : certificates
    }

    /// One trust policy for each policy that has a purpose.
    private func demands(at moment: Date) -> [TrustPolicy] {
        let time = Int64(exactly: moment.timeIntervalSince1970.rounded(.down)) ?? .max
        var needsGoodResponse = false
        var demands: [TrustPolicy] = []
        for policy in policies {
            switch policy.kind {
            case .basic: demands.append(TrustPolicy(purpose: .any, host: nil, time: time, response: response))
            case .tls(let isServer, let host):
                demands.append(
                    TrustPolicy(purpose: isServer ? .server : .client, host: host, time: time, response: response))
            case .revocation(let flags):
                if flags & kSecRevocationRequirePositiveResponse != 0 { needsGoodResponse = true }
            }
        }
        if demands.isEmpty { demands = [TrustPolicy(purpose: .any, host: nil, time: time, response: response)] }
        if needsGoodResponse { for index in demands.indices { demands[index].needsGoodResponse = true } }
        return demands
    }

    /// Evaluates with the custom anchors, then with the system's roots unless only the custom anchors are trusted. If
    /// neither trust the chain, and it ends at a custom anchor, its other faults are the result.
    private func faults(
        _ given: CertificateChain, _ demand: TrustPolicy, built: inout CertificateChain?
    ) throws(TLSError) -> [TrustFault] {
        var faultsBelowAnchor: [TrustFault]?
        if anchors != nil || trustsAnchorsOnly {
            let evaluator = try TrustEvaluator.evaluator(for: .only((anchors ?? []).map { .der($0.der) }))
            let faults = try evaluator.faults(of: given, demand, built: &built)
            if trustsAnchorsOnly || faults.isEmpty { return faults }
            if !faults.contains(where: \.isAboutRoot) { faultsBelowAnchor = faults }
        }
        guard let system = TrustEvaluator.system else { throw .nothingMade() }
        var builtToSystem: CertificateChain?
        let faults = try system.faults(of: given, demand, built: &builtToSystem)
        if let faultsBelowAnchor, !faults.isEmpty { return faultsBelowAnchor }
        built = builtToSystem
        return faults
    }
}

extension TrustFault {
    /// Whether the fault cannot be excepted.
    var isFatal: Bool { error.status == errSecCertificateRevoked }
}

extension TLSError {
    /// The failed evaluation as a status.
    var status: OSStatus {
        switch verifyCode {
        case 9: errSecCertificateNotValidYet
        case 10: errSecCertificateExpired
        case 23: errSecCertificateRevoked
        case 62, 64: errSecHostNameMismatch
        default: errSecNotTrusted
        }
    }
}
