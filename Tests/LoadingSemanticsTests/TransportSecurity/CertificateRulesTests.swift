import LoadingSemantics
import Testing

// TLS-4, TLS-5
@Suite struct CertificateRulesTests {
    private typealias Facts = CertificateFacts
    private typealias Chain = CertificateChainFacts

    private static let day: Int64 = 86_400
    /// 2024-01-01
    private static let issued: Int64 = 1_704_067_200
    private static let now = issued + 10 * day

    private static func leaf(_ change: (inout Facts) -> Void = { _ in }) -> Facts {
        var facts = Facts(
            names: [.host("a.example")], key: .elliptic(bits: 256), signature: .sha2, validFrom: issued,
            validUntil: issued + 90 * day - 1, purposes: .server)
        change(&facts)
        return facts
    }

    private static func issuer(_ change: (inout Facts) -> Void = { _ in }) -> Facts {
        var facts = Facts(
            key: .rsa(bits: 2048), signature: .sha2, validFrom: 0, validUntil: now + 3650 * day, isAuthority: true)
        change(&facts)
        return facts
    }

    private static func root(_ change: (inout Facts) -> Void = { _ in }) -> Facts {
        issuer {
            $0.isSelfIssued = true
            change(&$0)
        }
    }

    private func refusal(
        _ certificates: [Facts], _ anchor: Chain.Anchor = .system, host: String = "a.example",
        at now: Int64 = CertificateRulesTests.now
    ) -> CertificateRefusal? {
        CertificateRules.refusal(of: Chain(certificates, anchor: anchor), for: host, at: now)
    }

    private func refusals(_ certificates: [Facts], _ anchor: Chain.Anchor) -> [CertificateRefusal] {
        CertificateRules.refusals(of: Chain(certificates, anchor: anchor), for: "a.example", at: Self.now)
    }

    @Test("A chain that satisfies all rules is trusted", arguments: [Chain.Anchor.system, .added])
    private func good(anchor: Chain.Anchor) {
        #expect(refusal([Self.leaf(), Self.issuer(), Self.root()], anchor) == nil)
        #expect(refusal([Self.leaf(), Self.root()], anchor) == nil)
        #expect(refusal([Self.leaf()], anchor) == nil)
    }

    @Test("Each refusal has its error code")
    func codes() {
        #expect(
            CertificateRefusal.allCases.map(\.code) == [
                -1203, -1202, -1204, -1201,
            ] + [Int](repeating: -1202, count: 18))
    }

    // RFC 5280 §6.1
    @Test("A missing trusted root takes precedence")
    func anchors() {
        #expect(refusal([Self.leaf(), Self.issuer()], .none) == .unknownRoot)
        #expect(refusal([Self.leaf(), Self.root()], .none) == .unknownRoot)
        #expect(refusal([Self.leaf()], .none) == .unknownRoot)
        #expect(refusal([Self.leaf { $0.isSelfIssued = true }], .none) == .selfSigned)
        #expect(
            refusal(
                [
                    Self.leaf {
                        $0.isSelfIssued = true; $0.validUntil = 0
                    }
                ], .none) == .selfSigned)
        #expect(refusal([], .none) == .unknownRoot)
        #expect(refusal([], .system) == .unknownRoot)
        // An added self-signed certificate is trusted.
        #expect(
            refusal(
                [
                    Self.leaf {
                        $0.isSelfIssued = true; $0.signature = .other
                    }
                ], .added) == nil)
    }

    // RFC 5280 §4.1.2.5
    @Test("Certificates are valid including the first and last second")
    func validity() {
        let (first, last) = (Self.issued, Self.issued + 90 * Self.day - 1)
        for (now, expected) in [
            (first - 1, .notYetValid), (first, nil), (last, nil), (last + 1, .expired), (.min, .notYetValid),
            (.max, .expired),
        ] as [(Int64, CertificateRefusal?)] {
            #expect(
                refusal(
                    [
                        Self.leaf(),
                        Self.root {
                            $0.validFrom = .min; $0.validUntil = .max
                        },
                    ], at: now) == expected)
        }
        let old = Self.issuer { $0.validUntil = Self.now - 1 }
        let new = Self.issuer { $0.validFrom = Self.now + 1 }
        #expect(refusal([Self.leaf(), old, Self.root()]) == .expired)
        #expect(refusal([Self.leaf(), Self.issuer(), old]) == .expired)
        #expect(refusal([Self.leaf(), new, Self.root()]) == .notYetValid)
        // Malformed times.
        #expect(
            refusal([
                Self.leaf {
                    $0.validFrom = .max; $0.validUntil = .min
                }, Self.root(),
            ]) == .notYetValid)
    }

    @Test(
        "The host must be among the alternative names",
        arguments: [
            ("a.example", [.host("a.example")], true), ("a.example", [.host("b.example"), .host("A.Example")], true),
            ("a.example.", [.host("a.example")], true), ("a.example", [], false), ("a.example", [.other], false),
            ("a.example", [.host("example")], false), ("b.a.example", [.host("a.example")], false),
            ("a.example", [.host("")], false), ("", [.host("")], false), (".", [.host("")], false),
            // A wildcard is the whole first label.
            ("b.a.example", [.host("*.a.example")], true), ("a.example", [.host("*.a.example")], false),
            ("c.b.a.example", [.host("*.a.example")], false), ("B.A.Example", [.host("*.a.EXAMPLE")], true),
            ("bc.a.example", [.host("b*.a.example")], false), ("b.c.example", [.host("b.*.example")], false),
            ("b.c.a.example", [.host("*.*.a.example")], false), ("a.example", [.host("*")], false),
            ("a.example", [.host("*.example")], false), ("a.example", [.host("*.example.")], false),
            (".a.example", [.host("*.a.example")], false), ("*.a.example", [.host("*.a.example")], true),
            ("xn--bcher-kva.a.example", [.host("*.a.example")], true),
            // An IP address matches only an iPAddress.
            ("192.0.2.1", [.address([192, 0, 2, 1])], true), ("192.0.2.1", [.address([192, 0, 2, 2])], false),
            ("192.0.2.1", [.host("192.0.2.1")], false), ("192.0.2.1", [.host("*.0.2.1")], false),
            ("::1", [.address([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])], true),
            ("fe80::1%eth0", [.address([0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])], true),
            ("::1", [.address([0, 0, 0, 1])], false), ("127.1", [.host("127.1")], false),
            ("a.example", [.address([])], false),
        ] as [(String, [CertificateFacts.Name], Bool)])
    func names(host: String, names: [CertificateFacts.Name], isFor: Bool) {
        let chain = [Self.leaf { $0.names = names }, Self.root()]
        #expect(refusal(chain, host: host) == (isFor ? nil : .wrongHost))
    }

    // TLS-4, RFC 9525 §6.3
    @Test(
        "A wildcard directly below a registry suffix is rejected",
        arguments: [
            ("a.co.uk", "*.co.uk", false), ("a.co.uk", "a.co.uk", true), ("b.a.co.uk", "*.a.co.uk", true),
            ("A.CO.UK", "*.Co.Uk", false), ("a.co.uk.", "*.co.uk", false), ("a.gov.zz", "*.gov.zz", false),
            ("a.hoster.example", "*.hoster.example", true), ("a.b.example", "*.b.example", true),
        ])
    func registries(host: String, name: String, isFor: Bool) {
        let listed: Set<String> = ["co.uk", "gov.zz"]
        let suffixes = RegistrySuffixes { listed.contains($0) }
        let chain = Chain([Self.leaf { $0.names = [.host(name)] }, Self.root()], anchor: .system)
        let found = CertificateRules.refusal(of: chain, for: host, at: Self.now, suffixes: suffixes)
        #expect(found == (isFor ? nil : .wrongHost))
        // Covered by the heuristic without a list.
        let guess = CertificateRules.refusal(of: chain, for: host, at: Self.now, suffixes: .withoutList)
        #expect(guess == (isFor ? nil : .wrongHost))
    }

    @Test("The list goes before the heuristic") func listedRegistries() {
        let suffixes = RegistrySuffixes { $0 == "tokyo.jp" }
        for (host, isListed, isGuessed) in [("a.tokyo.jp", true, false), ("a.com.zz", false, true)] {
            let name = "*" + host.dropFirst()
            let chain = Chain([Self.leaf { $0.names = [.host(name)] }, Self.root()], anchor: .system)
            let found = CertificateRules.refusal(of: chain, for: host, at: Self.now, suffixes: suffixes)
            #expect(found == (isListed ? .wrongHost : nil))
            let guess = CertificateRules.refusal(of: chain, for: host, at: Self.now, suffixes: .withoutList)
            #expect(guess == (isGuessed ? .wrongHost : nil))
        }
    }

    // RFC 5280 §4.1.2.6, §4.2
    @Test("Encoding, unique extensions and subject are required")
    func encodings() {
        let changes: [(CertificateRefusal?, (inout Facts) -> Void)] = [
            (.malformed, { $0.encoding = nil }), (.unreadableExtension, { $0.encoding?.hasUnreadableExtension = true }),
            (.duplicateExtension, { $0.encoding?.hasDuplicateExtension = true }),
        ]
        for (expected, change) in changes {
            for chain in [
                [Self.leaf(change), Self.issuer(), Self.root()], [Self.leaf(), Self.issuer(change), Self.root()],
                [Self.leaf(), Self.issuer(), Self.root(change)],
            ] {
                #expect(refusal(chain) == expected)
                #expect(CertificateRules.refusals(of: Chain(chain, anchor: .added)) == [expected].compactMap { $0 })
            }
        }
        func nameless(_ facts: inout Facts) { facts.encoding?.hasSubject = false }
        #expect(refusal([Self.leaf(nameless), Self.root()]) == .emptySubject)
        #expect(refusal([Self.leaf(), Self.issuer(nameless), Self.root()]) == .emptySubject)
        #expect(refusal([Self.leaf(), Self.root(nameless)]) == .emptySubject)
        // Critical names replace a subject, except that of a CA.
        func named(_ facts: inout Facts) {
            nameless(&facts)
            facts.encoding?.hasCriticalNames = true
        }
        #expect(refusal([Self.leaf(named), Self.root()]) == nil)
        #expect(refusal([Self.leaf(), Self.issuer(named), Self.root()]) == .emptySubject)
    }

    // RFC 5280 §4.2.1.10
    @Test(
        "A wildcard must not cover an excluded name",
        arguments: [
            ("*.a.example", "b.a.example", true), ("*.A.Example", "b.a.example", true),
            ("b.a.example", "c.a.example", false), ("*.a.example", "b.b.example", false),
            // The excluded name is below the names that the wildcard covers.
            ("*.a.example", "c.b.a.example", false), ("*.a.example", ".b.a.example", false),
            ("*.a.example", "", false), ("*.a.example", ".", false),
        ])
    func constraints(name: String, excluded: String, isRefused: Bool) {
        let issuer = Self.issuer { $0.encoding?.constraints.excludedHosts = [Array(excluded.utf8)] }
        for chain in [
            [Self.leaf { $0.names = [.host(name)] }, issuer, Self.root()],
            [Self.leaf { $0.names = [.host(name)] }, issuer],
        ] {
            #expect(
                CertificateRules.refusals(of: Chain(chain, anchor: .added)) == (isRefused ? [.outsideConstraints] : []))
        }
        let unsupported = Self.issuer { $0.encoding?.constraints.isUnsupported = true }
        #expect(refusal([Self.leaf(), unsupported, Self.root()]) == .unsupportedConstraints)
    }

    // RFC 5280 §4.2.1.9
    @Test("Issuers must be CAs and respect path lengths")
    func authorities() {
        #expect(refusal([Self.leaf(), Self.issuer { $0.isAuthority = false }, Self.root()]) == .notAnAuthority)
        for anchor in [Chain.Anchor.system, .added] {
            #expect(refusal([Self.leaf(), Self.root { $0.isAuthority = false }], anchor) == .notAnAuthority)
        }
        // Versions 1 and 2 have no basic constraints. Only roots are exempt.
        for version in [1, 2] {
            let old = Self.root {
                $0.isAuthority = false; $0.encoding?.version = version
            }
            #expect(refusal([Self.leaf(), old]) == nil)
            #expect(refusal([Self.leaf(), old, Self.root()]) == .notAnAuthority)
        }
        #expect(refusal([Self.leaf(), Self.issuer { $0.pathLength = 0 }, Self.root()]) == nil)
        #expect(refusal([Self.leaf(), Self.issuer(), Self.root { $0.pathLength = 0 }]) == .pathTooLong)
        #expect(refusal([Self.leaf(), Self.issuer(), Self.root { $0.pathLength = 1 }]) == nil)
        #expect(
            refusal([Self.leaf(), Self.issuer(), Self.issuer { $0.pathLength = 0 }, Self.root()]) == .pathTooLong)
        // A self-issued certificate does not count in the path length.
        let renewed = Self.issuer { $0.isSelfIssued = true }
        #expect(refusal([Self.leaf(), renewed, Self.issuer { $0.pathLength = 0 }, Self.root()]) == nil)
        #expect(refusal([Self.leaf(), Self.root { $0.pathLength = -1 }]) == .pathTooLong)
        // A CA may also be a server.
        #expect(
            refusal([
                Self.leaf {
                    $0.isAuthority = true; $0.pathLength = 0
                }, Self.root(),
            ]) == nil)
    }

    @Test("serverAuth is required of certificates since July 2019")
    func purposes() {
        let old: Int64 = 1_561_939_199
        for (purposes, from, isGood, isGoodBelowAdded) in [
            (.server, Self.issued, true, true), ([.server, .any], Self.issued, true, true),
            (nil, Self.issued, false, false), ([], Self.issued, false, false), (.any, Self.issued, false, false),
            (nil, old + 1, false, false), (.server, old, true, true), ([], old, false, false),
            // Below the system's roots, the rule applies to older certificates too.
            (nil, old, false, true), (.any, old, false, true),
        ] as [(Facts.Purposes?, Int64, Bool, Bool)] {
            let leaf = Self.leaf {
                $0.purposes = purposes; $0.validFrom = from; $0.validUntil = from + Self.day
            }
            #expect(refusal([leaf, Self.root()], at: from) == (isGood ? nil : .wrongPurpose))
            #expect(refusal([leaf, Self.root()], .added, at: from) == (isGoodBelowAdded ? nil : .wrongPurpose))
        }
        #expect(refusal([Self.leaf(), Self.issuer { $0.purposes = [] }, Self.root()]) == .wrongPurpose)
        #expect(refusal([Self.leaf(), Self.issuer { $0.purposes = .any }, Self.root()]) == nil)
        #expect(refusal([Self.leaf(), Self.issuer { $0.purposes = .server }, Self.root()]) == nil)
        #expect(refusal([Self.leaf(), Self.root { $0.purposes = [] }]) == nil)
    }

    // TLS-2
    @Test(
        "Keys have at least 2048 (RSA) or 256 bits (curves), in every certificate",
        arguments: [
            (.rsa(bits: 2048), true), (.rsa(bits: 4096), true), (.rsa(bits: 2047), false), (.rsa(bits: 1024), false),
            (.rsa(bits: 0), false), (.elliptic(bits: 256), true), (.elliptic(bits: 521), true),
            (.elliptic(bits: 255), false), (.elliptic(bits: 224), false), (.other, false),
        ] as [(CertificateFacts.Key, Bool)])
    func keys(key: CertificateFacts.Key, isGood: Bool) {
        let expected: CertificateRefusal? = isGood ? nil : .weakKey
        #expect(refusal([Self.leaf { $0.key = key }, Self.issuer(), Self.root()]) == expected)
        #expect(refusal([Self.leaf(), Self.issuer { $0.key = key }, Self.root()]) == expected)
        #expect(refusal([Self.leaf(), Self.issuer(), Self.root { $0.key = key }], .added) == expected)
    }

    // TLS-2
    @Test(
        "Signatures use SHA-2, except that of the root",
        arguments: [(.sha2, true), (.edwards, true), (.sha1, false), (.other, false)]
            as [(CertificateFacts.SignatureHash, Bool)])
    func signatures(hash: CertificateFacts.SignatureHash, isGood: Bool) {
        let expected: CertificateRefusal? = isGood ? nil : .weakSignature
        #expect(refusal([Self.leaf { $0.signature = hash }, Self.issuer(), Self.root()]) == expected)
        #expect(refusal([Self.leaf(), Self.issuer { $0.signature = hash }, Self.root()], .added) == expected)
        #expect(refusal([Self.leaf(), Self.root { $0.signature = hash }]) == nil)
    }

    @Test("The lifetime is at most 825 days, and 398 below the system's roots")
    func lifetimes() {
        let (july2019, september2020): (Int64, Int64) = (1_561_939_200, 1_598_918_400)
        let hour: Int64 = 3600
        for (from, seconds, anchor, isGood) in [
            (july2019 - 1, 4000 * Self.day, .added, true), (july2019, 825 * Self.day, .added, true),
            (july2019, 825 * Self.day + hour, .added, true), (july2019, 825 * Self.day + hour + 1, .added, false),
            (september2020, 398 * Self.day + 1, .added, true), (Self.issued, 825 * Self.day, .added, true),
            (Self.issued, 825 * Self.day + hour + 1, .added, false), (Self.issued, .max - Self.issued, .added, false),
            // Below the system's roots, for any date before September 2020.
            (july2019 - 1, 825 * Self.day + hour, .system, true),
            (july2019 - 1, 825 * Self.day + hour + 1, .system, false),
            (july2019, 825 * Self.day + hour + 1, .system, false),
            (september2020 - 1, 825 * Self.day + hour, .system, true),
            (september2020, 398 * Self.day, .system, true), (september2020, 398 * Self.day + 1, .system, false),
        ] as [(Int64, Int64, Chain.Anchor, Bool)] {
            let leaf = Self.leaf {
                $0.validFrom = from; $0.validUntil = from + seconds
            }
            #expect(refusal([leaf, Self.root()], anchor, at: from) == (isGood ? nil : .lastsTooLong))
        }
        let endless = Self.leaf {
            $0.validFrom = .min; $0.validUntil = .max; $0.purposes = nil
        }
        #expect(refusal([endless, Self.root()], .added) == nil)
        #expect(refusals([endless, Self.root()], .system) == [.wrongPurpose, .lastsTooLong])
        // Issuers may have longer lifetimes.
        #expect(refusal([Self.leaf(), Self.issuer { $0.validFrom = Self.issued }, Self.root()]) == nil)
    }

    @Test("The most specific of several refusals comes first")
    func order() {
        let wrong = Self.leaf {
            $0.names = []
            $0.key = .rsa(bits: 1024)
            $0.signature = .sha1
            $0.purposes = nil
        }
        #expect(refusal([wrong, Self.root()]) == .wrongPurpose)
        #expect(refusal([wrong, Self.root()], at: Self.now + 4000 * Self.day) == .expired)
        #expect(
            refusal([
                Self.leaf {
                    $0.names = []; $0.key = .other
                }, Self.root(),
            ]) == .wrongHost)
        #expect(
            refusal([
                Self.leaf {
                    $0.key = .other; $0.signature = .sha1
                }, Self.root(),
            ]) == .weakKey)
    }

    @Test("All refusals, at most one of each kind")
    func all() {
        let wrong = Self.leaf {
            $0.names = []
            $0.key = .rsa(bits: 1024)
            $0.signature = .sha1
            $0.purposes = nil
            $0.validUntil = Self.issued + 900 * Self.day
        }
        func refusals(_ certificates: [Facts], _ anchor: Chain.Anchor, host: String?) -> [CertificateRefusal] {
            CertificateRules.refusals(
                of: Chain(certificates, anchor: anchor), for: host, at: Self.now + 4000 * Self.day)
        }
        let rest: [CertificateRefusal] = [.weakKey, .weakSignature, .lastsTooLong]
        #expect(
            refusals([wrong, Self.root()], .added, host: "a.example") == [.expired, .wrongPurpose, .wrongHost] + rest)
        // For any host.
        #expect(refusals([wrong, Self.root()], .added, host: nil) == [.expired, .wrongPurpose] + rest)
        #expect(
            refusals([wrong, Self.issuer()], .none, host: "a.example")
                == [.unknownRoot, .expired, .wrongPurpose, .wrongHost] + rest)
        #expect(refusals([], .none, host: "a.example") == [.unknownRoot])
        #expect(refusals([Self.leaf(), Self.root { $0.validUntil = .max }], .system, host: nil) == [.expired])
    }
}
