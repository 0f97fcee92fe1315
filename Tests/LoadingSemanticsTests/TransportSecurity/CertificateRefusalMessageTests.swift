import LoadingSemantics
import Testing

// TLS-5: the message names the violated rule and the certificate
@Suite struct CertificateRefusalMessageTests {
    private static let day: Int64 = 86_400
    /// 2024-01-01
    private static let issued: Int64 = 1_704_067_200

    private static func leaf(_ change: (inout CertificateFacts) -> Void = { _ in }) -> CertificateFacts {
        var facts = CertificateFacts(
            names: [.host("a.example")], key: .elliptic(bits: 256), signature: .sha2, validFrom: issued,
            validUntil: issued + 90 * day, purposes: .server)
        change(&facts)
        return facts
    }

    private static func issuer(_ change: (inout CertificateFacts) -> Void = { _ in }) -> CertificateFacts {
        var facts = CertificateFacts(
            key: .rsa(bits: 2048), signature: .sha2, validFrom: 0, validUntil: issued + 3650 * day, isAuthority: true)
        change(&facts)
        return facts
    }

    private func text(
        _ refusal: CertificateRefusal, _ certificates: [CertificateFacts],
        _ anchor: CertificateChainFacts.Anchor = .added,
        host: String? = "b.example", after days: Int64 = 1, names: [String?] = ["Leaf", "Issuer", "Root"],
        isForClients: Bool = false
    ) -> String {
        CertificateRefusalMessage(
            CertificateChainFacts(certificates, anchor: anchor), for: host, at: Self.issued + days * Self.day,
            names: names,
            lastIssuer: "Someone", isForClients: isForClients
        ).text(refusal)
    }

    @Test("Each refusal has its own message")
    func sentences() {
        let (leaf, issuer) = (Self.leaf(), Self.issuer())
        #expect(
            text(.unknownRoot, [leaf, issuer])
                == "the issuer “Someone” of “Issuer” is neither in the chain nor a trusted root")
        #expect(
            text(.unknownRoot, [leaf, Self.issuer { $0.isSelfIssued = true }])
                == "the chain ends in “Issuer”, which is no trusted root")
        #expect(text(.selfSigned, [leaf]) == "“Leaf” is self-signed and not among the trusted certificates")
        #expect(text(.expired, [leaf, issuer], after: 91) == "“Leaf” expired on Sun, 31 Mar 2024 00:00:00 GMT")
        #expect(
            text(.expired, [leaf, Self.issuer { $0.validUntil = Self.issued }])
                == "“Issuer” expired on Mon, 01 Jan 2024 00:00:00 GMT")
        #expect(text(.notYetValid, [leaf], after: -1) == "“Leaf” is not valid before Mon, 01 Jan 2024 00:00:00 GMT")
        #expect(text(.expired, [Self.leaf { $0.validUntil = .min }]) == "“Leaf” expired on a date that cannot be read")
        #expect(text(.badSignature, [leaf]) == "a signature in the chain of “Leaf” is not that of its issuer")
        #expect(
            text(.malformed, [leaf, Self.issuer { $0.encoding = nil }])
                == "“Issuer” is malformed: it is no DER of X.509")
        #expect(text(.unknownExtension, [leaf]) == "a critical extension in the chain of “Leaf” is not known")
        #expect(
            text(.unreadableExtension, [leaf, Self.issuer { $0.encoding?.hasUnreadableExtension = true }])
                == "an extension of “Issuer” cannot be read")
        #expect(
            text(.duplicateExtension, [Self.leaf { $0.encoding?.hasDuplicateExtension = true }])
                == "“Leaf” has an extension twice")
        #expect(
            text(.emptySubject, [Self.leaf { $0.encoding?.hasSubject = false }], names: [nil])
                == "the certificate has no subject, and its subject alternative names are not critical")
        #expect(
            text(.emptySubject, [leaf, Self.issuer { $0.encoding?.hasSubject = false }])
                == "an issuer's certificate has no subject")
        #expect(
            text(.notAnAuthority, [leaf, Self.issuer { $0.isAuthority = false }])
                == "“Issuer” may not issue certificates: its basic constraints do not say that it is a CA")
        #expect(
            text(.notAnAuthority, [leaf, issuer])
                == "an issuer in the chain of “Leaf” may not sign certificates (key usage)")
        #expect(
            text(.pathTooLong, [leaf]) == "there are more issuers in the chain of “Leaf” than their path lengths allow")
        #expect(text(.outsideConstraints, [leaf]) == "a name of “Leaf” is outside the name constraints of its issuers")
        #expect(
            text(.unsupportedConstraints, [leaf, Self.issuer { $0.encoding?.constraints.isUnsupported = true }])
                == "the name constraints of “Issuer” are critical and of an unsupported kind")
        #expect(
            text(.noPolicy, [leaf])
                == "no certificate policy is valid for the whole chain of “Leaf”, which has to have one")
        #expect(text(.revoked, [leaf]) == "“Leaf” is revoked by its issuer")
        #expect(text(.unknownRevocation, [leaf]) == "no response says that “Leaf” is not revoked")
        for refusal in CertificateRefusal.allCases { #expect(!text(refusal, []).isEmpty) }
    }

    @Test("Purposes")
    func purposes() {
        #expect(
            text(.wrongPurpose, [Self.leaf { $0.purposes = nil }])
                == "“Leaf” has no extended key usage, which has to name TLS servers")
        #expect(
            text(.wrongPurpose, [Self.leaf { $0.purposes = .any }])
                == "“Leaf” is not for TLS servers by its extended key usage")
        #expect(
            text(.wrongPurpose, [Self.leaf(), Self.issuer { $0.purposes = [] }, Self.issuer()])
                == "“Issuer” is not for TLS servers by its extended key usage")
        #expect(text(.wrongPurpose, [Self.leaf()]) == "“Leaf” is not for TLS servers by its key usage")
        #expect(
            text(.wrongPurpose, [Self.leaf()], isForClients: true)
                == "“Leaf”, or an issuer of it, is not for TLS clients")
    }

    @Test("Names")
    func names() {
        func names(_ names: [CertificateFacts.Name], host: String = "b.example") -> String {
            text(.wrongHost, [Self.leaf { $0.names = names }], host: host)
        }
        #expect(names([.host("a.example"), .other]) == "“Leaf” is for a.example, not for “b.example”")
        #expect(
            names([])
                == "“Leaf” is for no host: it has no subject alternative name that is a host's, and “b.example” was asked for"
        )
        #expect(
            names([.address([192, 0, 2, 1]), .address([0x20, 1] + [UInt8](repeating: 0, count: 14)), .address([1])])
                == "“Leaf” is for 192.0.2.1, 2001:0:0:0:0:0:0:0, an address of 1 bytes, not for “b.example”")
        #expect(
            names((1...4).map { .host("\($0).example") })
                == "“Leaf” is for 1.example, 2.example, 3.example, 4.example, not for “b.example”")
        #expect(
            names((1...1000).map { .host("\($0).example") })
                == "“Leaf” is for 1.example, 2.example, 3.example and 997 more, not for “b.example”")
        #expect(
            names([.host("*.Co.uk")], host: "apple.co.uk")
                == "“Leaf” is for *.Co.uk, not for “apple.co.uk”; a wildcard right below a public suffix is for none")
    }

    @Test("Keys, signatures and lifetimes")
    func numbers() {
        #expect(
            text(.weakKey, [Self.leaf { $0.key = .rsa(bits: 1024) }])
                == "“Leaf” has an RSA key of 1024 bits, which have to be 2048")
        #expect(
            text(.weakKey, [Self.leaf(), Self.issuer { $0.key = .elliptic(bits: 224) }])
                == "“Issuer” has a key on a curve of 224 bits, which have to be 256")
        #expect(text(.weakKey, [Self.leaf { $0.key = .other }]) == "“Leaf” has a key of an unknown kind")
        #expect(
            text(.weakSignature, [Self.leaf { $0.signature = .sha1 }]) == "“Leaf” is signed with SHA-1, not with SHA-2")
        #expect(
            text(.weakSignature, [Self.leaf { $0.signature = .other }])
                == "“Leaf” is signed with a weak hash, not with SHA-2")
        let longLived = Self.leaf { $0.validUntil = Self.issued + 825 * Self.day + 3601 }
        #expect(
            text(.lastsTooLong, [longLived]) == "“Leaf” is valid for 825 days and 3601 seconds; 825 days are the most")
        #expect(
            text(.lastsTooLong, [Self.leaf { $0.validUntil = Self.issued + 400 * Self.day }], .system)
                == "“Leaf” is valid for 400 days; 398 days are the most")
    }

    @Test("Names in messages cannot control a terminal")
    func printable() {
        func called(_ name: String) -> String { text(.revoked, [Self.leaf()], names: [name]) }
        #expect(called("a\u{1B}[2J\r\nb\u{202E}c\u{0}") == "“a�[2J��b�c�” is revoked by its issuer")
        #expect(called("Ünïcode 株式会社") == "“Ünïcode 株式会社” is revoked by its issuer")
        #expect(
            called(String(repeating: "x", count: 5000))
                == "“\(String(repeating: "x", count: 100))…” is revoked by its issuer")
        #expect(text(.revoked, [Self.leaf()], names: []) == "the certificate is revoked by its issuer")
    }
}
