internal import CLoadingPublicSuffixes
internal import LoadingSemantics

/// A chain that OpenSSL has built, with the properties that the rules check.
struct BuiltChain {
    let certificates: [Certificate]
    let policy: TrustPolicy
    private let facts: [CertificateFacts]

    /// - Parameter chain: Nil if OpenSSL has built none.
    init(_ chain: CertificateChain?, _ policy: TrustPolicy) {
        self.policy = policy
        certificates = chain?.certificates ?? []
        facts = certificates.enumerated().map { CertificateFacts($1, hasNames: $0 == 0) }
    }

    /// The refusals of the rules, if the last certificate is trusted for that reason.
    func refusals(_ anchor: CertificateChainFacts.Anchor) -> [CertificateRefusal] {
        let chain = CertificateChainFacts(facts, anchor: anchor)
        guard case .server = policy.purpose else { return CertificateRules.refusals(of: chain) }
        return CertificateRules.refusals(of: chain, for: policy.bareHost, at: policy.time, suffixes: .system)
    }

    /// The message of a refusal. Created only if there is one.
    func reason(_ anchor: CertificateChainFacts.Anchor) -> CertificateRefusalMessage {
        let isForClients = if case .client = policy.purpose { true } else { false }
        return CertificateRefusalMessage(
            CertificateChainFacts(facts, anchor: anchor), for: policy.bareHost, at: policy.time,
            names: certificates.map(\.summary), lastIssuer: certificates.last?.issuerSummary, isForClients: isForClients
        )
    }
}

extension RegistrySuffixes {
    /// Uses the system's Public Suffix List, if there is one. The first call reads files and loads a library. Called
    /// only by trust evaluations, which read files anyway and do not block a loop.
    static let system = RegistrySuffixes { domain in
        switch domain.withCString({ clp_registry_suffix($0) }) {
        case CLP_IS_SUFFIX: true
        case CLP_IS_NO_SUFFIX: false
        default: nil
        }
    }
}
