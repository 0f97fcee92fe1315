/// Which chains prove that a server is the host it should be: the requirements that Apple has published for the
/// certificates of TLS servers, which ask for more than RFC 5280 does (TLS-4, TLS-5).
///
/// They judge what somebody else has built and whose signatures he has checked: name constraints, key usage, policies,
/// unknown critical extensions and revocation are his part too.
package enum CertificateRules {
    /// All that is wrong with a chain, at most one of each kind, the one that tells most first; nothing if it will do.
    ///
    /// - Parameters:
    ///   - host: As in `HTTPURL`; nil if it is to be for no host in particular.
    ///   - now: In seconds since 1970.
    package static func refusals(
        of chain: CertificateChainFacts, for host: String?, at now: Int64
    ) -> [CertificateRefusal] {
        let certificates = chain.certificates
        guard let leaf = certificates.first else { return [.unknownRoot] }
        var refusals: [CertificateRefusal?] = []
        if chain.anchor == .none {
            refusals.append(certificates.count == 1 && leaf.isSelfIssued ? .selfSigned : .unknownRoot)
        }
        refusals += [
            validity(of: certificates, at: now), authority(of: certificates), purpose(of: certificates),
            host.flatMap { CertificateName.isFor($0, leaf.names) ? nil : .wrongHost }, keys(of: certificates),
            signatures(of: certificates), lifetime(of: leaf, anchor: chain.anchor),
        ]
        return refusals.compactMap { $0 }
    }

    /// The first of them.
    package static func refusal(
        of chain: CertificateChainFacts, for host: String?, at now: Int64
    ) -> CertificateRefusal? {
        refusals(of: chain, for: host, at: now).first
    }

    /// The last second counts (RFC 5280 §4.1.2.5).
    private static func validity(of certificates: [CertificateFacts], at now: Int64) -> CertificateRefusal? {
        for certificate in certificates {
            if now < certificate.validFrom { return .notYetValid }
            if now > certificate.validUntil { return .expired }
        }
        return nil
    }

    /// Who signs must be an authority, with no more of them below it than it says (RFC 5280 §4.2.1.9). Of a root it is
    /// enough that it is trusted: those of the first version of X.509 say nothing.
    private static func authority(of certificates: [CertificateFacts]) -> CertificateRefusal? {
        for certificate in certificates.dropFirst().dropLast() where !certificate.isAuthority { return .notAnAuthority }
        var count = 0
        for certificate in certificates.dropFirst() {
            if let pathLength = certificate.pathLength, count > pathLength { return .pathTooLong }
            if !certificate.isSelfIssued { count += 1 }
        }
        return nil
    }

    /// The leaf must say that it is for servers, if it is not older than that rule. Where others say what they are for,
    /// servers must be among it; roots are for what they are trusted for.
    private static func purpose(of certificates: [CertificateFacts]) -> CertificateRefusal? {
        for (index, certificate) in certificates.enumerated() {
            if index == 0, certificate.validFrom >= july2019 {
                guard certificate.purposes?.contains(.server) == true else { return .wrongPurpose }
            } else if index == 0 || index < certificates.count - 1, let purposes = certificate.purposes,
                purposes.isDisjoint(with: [.server, .any])
            {
                return .wrongPurpose
            }
        }
        return nil
    }

    private static func keys(of certificates: [CertificateFacts]) -> CertificateRefusal? {
        for certificate in certificates {
            switch certificate.key {
            case .rsa(let bits) where bits >= 2048: continue
            case .elliptic(let bits) where bits >= 256: continue
            case .rsa, .elliptic, .other: return .weakKey
            }
        }
        return nil
    }

    /// The signature on a root proves nothing, so it may be of any kind.
    private static func signatures(of certificates: [CertificateFacts]) -> CertificateRefusal? {
        for certificate in certificates.dropLast() {
            switch certificate.signature {
            case .sha2, .edwards: continue
            case .sha1, .other: return .weakSignature
            }
        }
        return nil
    }

    /// 825 days for all, and 398 for those below the system's own roots. Of the latter Apple says that the second of the
    /// end counts; of the former it is not said, and common tools do not count it.
    private static func lifetime(
        of leaf: CertificateFacts, anchor: CertificateChainFacts.Anchor
    ) -> CertificateRefusal? {
        let seconds = DeltaSeconds.difference(leaf.validUntil, leaf.validFrom)
        if leaf.validFrom >= july2019, seconds > 825 * day { return .lastsTooLong }
        if anchor == .system, leaf.validFrom >= september2020, seconds >= 398 * day { return .lastsTooLong }
        return nil
    }

    private static let day: Int64 = 86_400
    /// 2019-07-01 and 2020-09-01, at midnight in UTC.
    private static let july2019: Int64 = 1_561_939_200
    private static let september2020: Int64 = 1_598_918_400
}
