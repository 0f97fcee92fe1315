internal import LoadingSemantics

/// A chain as OpenSSL has put it together, read for the rules.
struct ChainReading {
    let certificates: [Certificate]
    let policy: TrustPolicy
    private let facts: [CertificateFacts]

    /// - Parameter chain: Nil if there is none.
    init(_ chain: CertificateChain?, _ policy: TrustPolicy) {
        self.policy = policy
        certificates = chain?.certificates ?? []
        facts = certificates.enumerated().map { CertificateFacts($1, hasNames: $0 == 0) }
    }

    /// What the rules have against it, if its last certificate is trusted for that reason.
    func refusals(_ anchor: CertificateChainFacts.Anchor) -> [CertificateRefusal] {
        let chain = CertificateChainFacts(facts, anchor: anchor)
        guard case .server = policy.purpose else { return CertificateRules.refusals(of: chain) }
        return CertificateRules.refusals(of: chain, for: policy.bareHost, at: policy.time, suffixes: .system)
    }

    /// What can be said of a refusal. Made only where there is one.
    func reason(_ anchor: CertificateChainFacts.Anchor) -> CertificateRefusalMessage {
        let isForClients = if case .client = policy.purpose { true } else { false }
        return CertificateRefusalMessage(
            CertificateChainFacts(facts, anchor: anchor), for: policy.bareHost, at: policy.time,
            names: certificates.map(\.summary), lastIssuer: certificates.last?.issuerSummary, isForClients: isForClients
        )
    }
}
