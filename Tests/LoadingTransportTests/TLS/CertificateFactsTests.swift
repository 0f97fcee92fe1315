import Foundation
import LoadingSemantics
import TestSupport
import Testing

@testable import LoadingTransport

/// The facts of a certificate that the evaluation rules use.
@Suite struct CertificateFactsTests {
    private let authority: TestCertificateAuthority

    init() throws { authority = try TestCertificateAuthority() }

    private func facts(_ certificate: TestCertificate, hasNames: Bool = true) throws -> CertificateFacts {
        CertificateFacts(try #require(Certificate(der: certificate.der)), hasNames: hasNames)
    }

    private func facts(_ change: (inout CertificateProfile) -> Void) throws -> CertificateFacts {
        try facts(authority.issue(.localhost.with(change)).certificate)
    }

    // TLS-4
    @Test("keys and their lengths")
    func keys() throws {
        for (kind, key) in [
            (.ellipticP256, .elliptic(bits: 256)), (.elliptic("secp224r1"), .elliptic(bits: 224)),
            (.elliptic("P-384"), .elliptic(bits: 384)), (.elliptic("P-521"), .elliptic(bits: 521)),
            (.edwards, .elliptic(bits: 256)), (.rsa(bits: 1024), .rsa(bits: 1024)),
            (.rsa(bits: 2048), .rsa(bits: 2048)),
        ] as [(TestPrivateKey.Kind, CertificateFacts.Key)] {
            #expect(try facts { $0.key = kind }.key == key)
        }
    }

    // TLS-4
    @Test("the hash of the signature") func signatures() throws {
        #expect(try facts { $0.digest = .sha1 }.signature == .sha1)
        #expect(try facts { $0.digest = .sha256 }.signature == .sha2)
        #expect(try facts { $0.digest = .sha384 }.signature == .sha2)
        let edwards = try authority.intermediate(.authority("Edwards").with { $0.key = .edwards })
        #expect(try facts(edwards.issue(.localhost).certificate).signature == .edwards)
        let old = try authority.intermediate(.authority("Old").with { $0.key = .rsa(bits: 2048) })
        #expect(try facts(old.issue(.localhost.with { $0.digest = .md5 }).certificate).signature == .other)
        #expect(try facts(old.issue(.localhost).certificate).signature == .sha2)
    }

    // TLS-4
    @Test("names of every kind") func names() throws {
        let named = try authority.issue(
            .server(
                "*.Example.test", "192.0.2.1", "::1", .uri("https://a.test"), .mail("a@b.test"),
                .rawDNS([0x61, 0, 0x62])))
        #expect(
            try facts(named.certificate).names == [
                .host("*.Example.test"), .address([192, 0, 2, 1]), .address([UInt8](repeating: 0, count: 15) + [1]),
                .other, .other, .host("a\0b"),
            ])
        #expect(try facts(named.certificate, hasNames: false).names == [])
        #expect(try facts { $0.names = [] }.names == [])
    }

    // TLS-4
    @Test("purposes, times and authorities") func rest() throws {
        #expect(try facts { _ in }.purposes == .server)
        #expect(try facts { $0.purposes = [] }.purposes == nil)
        #expect(try facts { $0.purposes = [.clientAuthentication] }.purposes == [])
        #expect(
            try facts { $0.purposes = [.other(objectIdentifier: "2.5.29.37.0"), .serverAuthentication] }.purposes
                == [.any, .server])
        let leaf = try facts {
            $0.validity = .between(.init(timeIntervalSince1970: 5), .init(timeIntervalSince1970: 9))
        }
        #expect([leaf.validFrom, leaf.validUntil] == [5, 9])
        #expect(!leaf.isAuthority)
        #expect(!leaf.isSelfIssued)
        #expect(leaf.pathLength == nil)
        let root = try facts(authority.root)
        #expect(root.isAuthority)
        #expect(root.isSelfIssued)
        #expect(root.pathLength == nil)
        let limited = try facts(authority.intermediate(.authority("Limited", pathLength: 3)).certificate)
        #expect(limited.pathLength == 3)
        #expect(!limited.isSelfIssued)
    }
}
