/// Apple's published requirements for the certificates of TLS servers, which are stricter than RFC 5280 (TLS-4, TLS-5).
///
/// The rules apply to a chain that the TLS library has built and verified. The library also checks key usage, policies,
/// most name constraints, unknown critical extensions and revocation.
package enum CertificateRules {
    /// The refusals that apply to a chain of any purpose, at most one of each kind. Empty if it is accepted.
    package static func refusals(of chain: CertificateChainFacts) -> [CertificateRefusal] {
        [encoding(of: chain.certificates), authority(of: chain.certificates), constraints(of: chain.certificates)]
            .compactMap { $0 }
    }

    /// All refusals of a server's chain, at most one of each kind, the most specific first. Empty if it is accepted.
    ///
    /// - Parameters:
    ///   - host: As in `HTTPURL`; nil if the name is not checked.
    ///   - now: In seconds since 1970.
    ///   - suffixes: Registry suffixes, directly below which no wildcard is accepted.
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

    /// The first refusal.
    package static func refusal(
        of chain: CertificateChainFacts, for host: String?, at now: Int64, suffixes: RegistrySuffixes = .withoutList
    ) -> CertificateRefusal? {
        refusals(of: chain, for: host, at: now, suffixes: suffixes).first
    }

    /// The validity period includes its last second (RFC 5280 §4.1.2.5).
    private static func validity(of certificates: [CertificateFacts], at now: Int64) -> CertificateRefusal? {
        for certificate in certificates {
            if now < certificate.validFrom { return .notYetValid }
            if now > certificate.validUntil { return .expired }
        }
        return nil
    }

    /// Extensions must be well-formed and unique. A CA must have a subject, other certificates a subject or critical
    /// alternative names (RFC 5280 §4.1.2.6, §4.2).
    private static func encoding(of certificates: [CertificateFacts]) -> CertificateRefusal? {
        for certificate in certificates {
            guard let encoding = certificate.encoding else { return .malformed }
            if encoding.hasUnreadableExtension { return .unreadableExtension }
            if encoding.hasDuplicateExtension { return .duplicateExtension }
            if !encoding.hasSubject, certificate.isAuthority || !encoding.hasCriticalNames { return .emptySubject }
        }
        return nil
    }

    /// Issuers must be CAs and respect path lengths (RFC 5280 §4.2.1.9). A root of X.509 version 1 or 2, which has no
    /// basic constraints, is accepted because it is trusted.
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

    /// Checks that the TLS library omits: critical constraints of unsupported forms, and wildcards that cover excluded
    /// names.
    private static func constraints(of certificates: [CertificateFacts]) -> CertificateRefusal? {
        let constraints = certificates.dropFirst().compactMap { $0.encoding?.constraints }
        if constraints.contains(where: \.isUnsupported) { return .unsupportedConstraints }
        guard let leaf = certificates.first, constraints.contains(where: { !$0.excludedHosts.isEmpty }) else {
            return nil
        }
        // The parents of excluded hosts. A wildcard for such a parent covers the excluded name.
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

    /// The leaf must list serverAuth if its root is part of the system, or if it is not older than that rule. If others
    /// have the extension, it must include serverAuth or anyExtendedKeyUsage. Roots are exempt.
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

    /// The signature of a root is not verified, so its algorithm does not matter.
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

    /// 825 days, with a tolerance of one hour; 398 days exactly below the roots of the system. Nil for certificates
    /// that are older than the rule, unless they are below the roots of the system.
    static func longestLifetime(
        of leaf: CertificateFacts, anchor: CertificateChainFacts.Anchor
    ) -> (days: Int64, seconds: Int64)? {
        if anchor == .system, leaf.validFrom >= september2020 { return (398, 398 * day) }
        return anchor == .system || leaf.validFrom >= july2019 ? (825, 825 * day + 3600) : nil
    }

    static let day: Int64 = 86_400
    /// 2019-07-01 and 2020-09-01, 00:00 UTC.
    static let july2019: Int64 = 1_561_939_200
    private static let september2020: Int64 = 1_598_918_400
}
