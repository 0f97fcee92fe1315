/// Which chains prove that a server is the host it should be: the requirements that Apple has published for the
/// certificates of TLS servers, which ask for more than RFC 5280 does (TLS-4, TLS-5).
///
/// They judge what the TLS library has built and whose signatures it has checked. Key usage, policies, most of the name
/// constraints, unknown critical extensions and revocation are its part too.
package enum CertificateRules {
    /// What is wrong with a chain whatever it is for, at most one of each kind; nothing if it will do.
    package static func refusals(of chain: CertificateChainFacts) -> [CertificateRefusal] {
        [encoding(of: chain.certificates), authority(of: chain.certificates), constraints(of: chain.certificates)]
            .compactMap { $0 }
    }

    /// All that is wrong with a server's chain, at most one of each kind, the one that tells most first; nothing if it
    /// will do.
    ///
    /// - Parameters:
    ///   - host: As in `HTTPURL`; nil if it is to be for no host in particular.
    ///   - now: In seconds since 1970.
    ///   - suffixes: Those below which no name stands for all others.
    package static func refusals(
        of chain: CertificateChainFacts, for host: String?, at now: Int64, suffixes: RegistrySuffixes = .withoutList
    ) -> [CertificateRefusal] {
        let certificates = chain.certificates
        guard let leaf = certificates.first else { return [.unknownRoot] }
        var refusals: [CertificateRefusal?] = []
        if chain.anchor == .none {
            refusals.append(certificates.count == 1 && leaf.isSelfIssued ? .selfSigned : .unknownRoot)
        }
        refusals.append(validity(of: certificates, at: now))
        refusals += self.refusals(of: chain).map(Optional.some)
        refusals += [
            purpose(of: certificates, anchor: chain.anchor),
            host.flatMap { CertificateName.isFor($0, leaf.names, suffixes: suffixes) ? nil : .wrongHost },
            keys(of: certificates), signatures(of: certificates), lifetime(of: leaf, anchor: chain.anchor),
        ]
        return refusals.compactMap { $0 }
    }

    /// The first of them.
    package static func refusal(
        of chain: CertificateChainFacts, for host: String?, at now: Int64, suffixes: RegistrySuffixes = .withoutList
    ) -> CertificateRefusal? {
        refusals(of: chain, for: host, at: now, suffixes: suffixes).first
    }

    /// The last second counts (RFC 5280 §4.1.2.5).
    private static func validity(of certificates: [CertificateFacts], at now: Int64) -> CertificateRefusal? {
        for certificate in certificates {
            if now < certificate.validFrom { return .notYetValid }
            if now > certificate.validUntil { return .expired }
        }
        return nil
    }

    /// What is said of a certificate has to be readable and said once, and it has to be somebody's (RFC 5280 §4.1.2.6,
    /// §4.2): an authority's in its subject, and another's in critical names at least.
    private static func encoding(of certificates: [CertificateFacts]) -> CertificateRefusal? {
        for certificate in certificates {
            guard let encoding = certificate.encoding else { return .malformed }
            if encoding.hasUnreadableExtension { return .unreadableExtension }
            if encoding.hasDuplicateExtension { return .duplicateExtension }
            if !encoding.hasSubject, certificate.isAuthority || !encoding.hasCriticalNames { return .emptySubject }
        }
        return nil
    }

    /// Who signs must be an authority, with no more of them below it than it says (RFC 5280 §4.2.1.9). Of a root of the
    /// first versions of X.509, which cannot say so, it is enough that it is trusted.
    private static func authority(of certificates: [CertificateFacts]) -> CertificateRefusal? {
        for (index, certificate) in certificates.enumerated().dropFirst() where !certificate.isAuthority {
            let version = certificate.encoding?.version ?? 3
            if index < certificates.count - 1 || version >= 3 { return .notAnAuthority }
        }
        var count = 0
        for certificate in certificates.dropFirst() {
            if let pathLength = certificate.pathLength, count > pathLength { return .pathTooLong }
            if !certificate.isSelfIssued { count += 1 }
        }
        return nil
    }

    /// What the TLS library does not see of name constraints: that it cannot compare some that are critical, and that a
    /// star stands for names of which some are excluded.
    private static func constraints(of certificates: [CertificateFacts]) -> CertificateRefusal? {
        let constraints = certificates.dropFirst().compactMap { $0.encoding?.constraints }
        if constraints.contains(where: \.isUnsupported) { return .unsupportedConstraints }
        guard let leaf = certificates.first, constraints.contains(where: { !$0.excludedHosts.isEmpty }) else {
            return nil
        }
        // Without the first label and the dot behind it: for whom a star would stand.
        let parents = Set(
            constraints.flatMap(\.excludedHosts).compactMap { host -> [UInt8]? in
                guard let dot = host.firstIndex(of: UInt8(ascii: ".")), dot > 0 else { return nil }
                return Array(host[(dot + 1)...])
            })
        let isExcluded = leaf.names.contains { name in
            guard case .host(let pattern) = name, pattern.utf8.starts(with: "*.".utf8) else { return false }
            return parents.contains(pattern.utf8.dropFirst(2).map(asciiLowercase))
        }
        return isExcluded ? .outsideConstraints : nil
    }

    /// The leaf must say that it is for servers, if it is below the system's own roots or not older than that rule. Where
    /// others say what they are for, servers or anything must be among it; roots are for what they are trusted for.
    private static func purpose(
        of certificates: [CertificateFacts], anchor: CertificateChainFacts.Anchor
    ) -> CertificateRefusal? {
        for (index, certificate) in certificates.enumerated() {
            if index == 0, anchor == .system || certificate.validFrom >= july2019 {
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

    private static func lifetime(
        of leaf: CertificateFacts, anchor: CertificateChainFacts.Anchor
    ) -> CertificateRefusal? {
        guard let longest = longestLifetime(of: leaf, anchor: anchor) else { return nil }
        return DeltaSeconds.difference(leaf.validUntil, leaf.validFrom) > longest.seconds ? .lastsTooLong : nil
    }

    /// 825 days for all, in which an hour more is overlooked, and 398 to the second for those below the system's own
    /// roots. Older ones than these rules may last for ever, but not below the system's roots.
    static func longestLifetime(
        of leaf: CertificateFacts, anchor: CertificateChainFacts.Anchor
    ) -> (days: Int64, seconds: Int64)? {
        if anchor == .system, leaf.validFrom >= september2020 { return (398, 398 * day) }
        return anchor == .system || leaf.validFrom >= july2019 ? (825, 825 * day + 3600) : nil
    }

    static let day: Int64 = 86_400
    /// 2019-07-01 and 2020-09-01, at midnight in UTC.
    static let july2019: Int64 = 1_561_939_200
    private static let september2020: Int64 = 1_598_918_400
}
