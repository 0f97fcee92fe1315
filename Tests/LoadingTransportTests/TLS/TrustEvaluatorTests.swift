import Foundation
import LoadingTransport
import TestSupport
import Testing

@Suite struct TrustEvaluatorTests {
    private let authority: TestCertificateAuthority
    private let evaluator: TrustEvaluator

    init() throws {
        authority = try TestCertificateAuthority()
        evaluator = try .evaluator(for: .only([.der(authority.root.der)]))
    }

    private func code(
        _ certificates: [TestCertificate], host: String, at time: Int64 = now, stapledResponse: [UInt8]? = nil
    ) throws -> Int? {
        let chain = try #require(CertificateChain(der: certificates.map(\.der)))
        switch evaluator.evaluate(chain, host: host, at: time, stapledResponse: stapledResponse) {
        case .trusted: return nil
        case .rejected(let error): return error.code
        }
    }

    // TLS-4, TLS-5
    @Test(
        "faults of a leaf, with their error codes",
        arguments: [
            (CertificateProfile.localhost, nil),
            (.localhost.with { $0.validity = .expired }, -1201),
            (.localhost.with { $0.validity = .notYetValid }, -1204),
            (.localhost.with { $0.purposes = [.codeSigning] }, -1202),
            (.localhost.with { $0.purposes = [] }, -1202),
            (.client("localhost"), -1202),
            (.serverByCommonName("localhost"), -1202),
            (.localhost.with { $0.digest = .sha1 }, -1202),
            (.localhost.with { $0.key = .rsa(bits: 1024) }, -1202),
            (.server("elsewhere.test"), -1202),
        ])
    func faultsOfLeafWithTheirErrorCodes(profile: CertificateProfile, code: Int?) throws {
        #expect(try self.code(authority.issue(profile).chain, host: "localhost") == code)
    }

    // TLS-5
    @Test("a chain must lead to a root") func chainMustLeadToRoot() throws {
        let selfSigned = try TestIdentity.selfSigned(.localhost)
        #expect(try code(selfSigned.chain, host: "localhost") == -1202)

        let otherAuthority = try TestCertificateAuthority(.authority("Other"))
        let unknownIdentity = try otherAuthority.issue(.localhost)
        #expect(try code(unknownIdentity.chain, host: "localhost") == -1203)
        #expect(try code(unknownIdentity.chain + [otherAuthority.root], host: "localhost") == -1203)

        let below = try authority.intermediate().intermediate(.authority("Second")).issue(.localhost)
        #expect(try code(below.chain, host: "localhost") == nil)
        #expect(try code(below.chain + [authority.root], host: "localhost") == nil)
        #expect(try code([below.certificate] + below.intermediates.reversed(), host: "localhost") == nil)
        #expect(try code([below.certificate], host: "localhost") == -1203)
        #expect(try code([], host: "localhost") == -1202)
    }

    // TLS-5
    @Test("an issuer that is not an authority, is too deep or has expired")
    func issuerThatIsNotAuthorityIsTooDeepOrHasExpired()
        throws
    {
        let server = try authority.issue(.localhost)
        let forged = try TestIdentity.selfSigned(.authority("Test Root"))
        #expect(try code(server.chain + [forged.certificate], host: "localhost") == nil)
        let shallow = try authority.intermediate(.authority("Shallow", pathLength: 0))
        let deep = try shallow.intermediate(.authority("Deep")).issue(.localhost)
        #expect(try code(deep.chain, host: "localhost") == -1202)
        let old = try authority.intermediate(.authority("Old").with { $0.validity = .expired }).issue(.localhost)
        #expect(try code(old.chain, host: "localhost") == -1201)
    }

    @Test("the caller gives the time") func callerGivesTime() throws {
        let server = try authority.issue(.localhost)
        let year: Int64 = 365 * 86_400
        #expect(try code(server.chain, host: "localhost", at: now + year) == -1201)
        #expect(try code(server.chain, host: "localhost", at: now - year) == -1204)
    }

    // TLS-4
    @Test(
        "names match in the subject alternative names",
        arguments: [
            ("a.example.test", nil), ("A.EXAMPLE.TEST", nil), ("a.example.test.", nil), ("example.test", -1202),
            ("a.b.example.test", -1202), ("fooa.partial.test", -1202), ("www.other.test", nil), ("other.test", -1202),
            ("x.a.tld", -1202), ("127.0.0.1", -1202), ("a\u{0}.example.test", -1202), ("", -1202), (".", -1202),
        ])
    func namesMatchInTheSubjectAlternativeNames(host: String, code: Int?) throws {
        let server = try authority.issue(
            .server("*.example.test", "foo*.partial.test", "www.other.test", "x.*.tld", "*"))
        #expect(try self.code(server.chain, host: host) == code)
    }

    // TLS-4
    @Test(
        "addresses match addresses only",
        arguments: [
            ("192.0.2.1", nil), ("192.0.2.2", -1202), ("::1", nil), ("[::1]", nil), ("0:0:0:0:0:0:0:1", nil),
            ("::1%lo", nil), ("::2", -1202), ("192.0.2.9", -1202),
        ])
    func addressesMatchAddressesOnly(host: String, code: Int?) throws {
        let server = try authority.issue(.server("192.0.2.1", "::1", .dns("192.0.2.9"), "*.0.2.9"))
        #expect(try self.code(server.chain, host: host) == code)
    }

    @Test("a name with a zero byte does not match its first part") func nameWithZeroByteDoesNotMatchItsFirstPart()
        throws
    {
        let server = try authority.issue(.server(.rawDNS(Array("bank.test\0.evil.test".utf8))))
        #expect(try code(server.chain, host: "bank.test") == -1202)
    }

    // TLS-10
    @Test(
        "a stapled response revokes",
        arguments: [
            (TestCertificateAuthority.RevocationStatus.good, CertificateProfile.Validity.current, nil),
            (.unknown, .current, nil), (.revoked, .current, -1202), (.revoked, .expired, nil),
        ])
    func stapledResponseRevokes(
        status: TestCertificateAuthority.RevocationStatus, validity: CertificateProfile.Validity, code: Int?
    ) throws {
        let server = try authority.issue(.localhost)
        let response = try authority.ocspResponse(for: server.certificate, status: status, validity: validity)
        #expect(try self.code(server.chain, host: "localhost", stapledResponse: response) == code)
    }

    // TLS-10
    @Test("an OCSP response without proof is ignored") func ocspResponseWithoutProofIsIgnored() throws {
        let server = try authority.issue(.localhost)
        let other = try authority.issue(.localhost)
        let forger = try TestCertificateAuthority()
        let responses = [
            try authority.ocspResponse(for: other.certificate, status: .revoked),
            try forger.ocspResponse(for: server.certificate, status: .revoked), [], [0x30], [0xFF, 0xFF],
        ]
        for response in responses {
            #expect(try code(server.chain, host: "localhost", stapledResponse: response) == nil)
        }
    }

    private func faults(_ identity: TestIdentity, host: String = "localhost", at time: Int64 = now) throws -> [[Int]] {
        let chain = try #require(CertificateChain(der: identity.chain.map(\.der)))
        var built: CertificateChain?
        let demand = TrustPolicy(purpose: .server, host: host, time: time)
        let faults = try evaluator.faults(of: chain, demand, built: &built)
        #expect(built?.certificates.isEmpty == false)
        let verdict = evaluator.evaluate(chain, host: host, at: time)
        #expect(verdict == (faults.first.map { .rejected($0.error) } ?? .trusted))
        return faults.map { [$0.error.code, $0.depth] }
    }

    // TLS-4, TLS-5
    @Test("all faults of a chain, in order") func allFaultsOfAChain() throws {
        #expect(try faults(authority.issue(.localhost)) == [])
        #expect(try faults(TestIdentity.selfSigned(.localhost)) == [[-1202, 0]])
        let wrong = try TestIdentity.selfSigned(.localhost.with { $0.validity = .expired })
        #expect(try faults(wrong, host: "other.test") == [[-1202, 0], [-1202, 0], [-1201, 0]])
        let ago = Date(timeIntervalSinceNow: -86_400)
        let soon = Date(timeIntervalSinceNow: 10 * 86_400)
        let old = try authority.intermediate(.authority("Old").with { $0.validity = .expired })
            .issue(.localhost.with { $0.validity = .between(ago, soon) })
        #expect(try faults(old) == [[-1201, 1]])
        #expect(try faults(old, host: "other.test", at: now + 20 * 86_400) == [[-1202, 0], [-1201, 1], [-1201, 0]])
        var built: CertificateChain?
        let chain = try #require(CertificateChain(der: old.chain.map(\.der)))
        #expect(throws: TLSError(code: -1202, reason: "invalid host name")) {
            try evaluator.faults(of: chain, TrustPolicy(purpose: .server, host: "", time: now), built: &built)
        }
    }

    @Test("roots from files add to the system's") func rootsComeFromFilesTooAndAddToTheSystems() throws {
        let directory = try TemporaryDirectory()
        let pem = try directory.write(authority.root.pem, to: "root.pem").path
        let der = try directory.write(authority.root.der, to: "root.der").path
        let chain = try #require(CertificateChain(der: authority.issue(.localhost).chain.map(\.der)))
        for roots in [TLSRoots.only([.file(pem)]), .only([.file(der)]), .systemAnd([.der(authority.root.der)])] {
            #expect(try TrustEvaluator.evaluator(for: roots).evaluate(chain, host: "localhost", at: now) == .trusted)
        }
        #expect(try TrustEvaluator.evaluator(for: .system).evaluate(chain, host: "localhost", at: now) != .trusted)
        #expect(try TrustEvaluator.evaluator(for: .only([])).evaluate(chain, host: "localhost", at: now) != .trusted)
    }

    @Test("a leaf that is configured as a root is trusted") func leafThatIsConfiguredAsRootIsTrusted() throws {
        let selfSigned = try TestIdentity.selfSigned(.localhost)
        let chain = try #require(CertificateChain(der: [selfSigned.certificate.der]))
        let evaluator = try TrustEvaluator.evaluator(for: .only([.der(selfSigned.certificate.der)]))
        #expect(evaluator.evaluate(chain, host: "localhost", at: now) == .trusted)
    }

    @Test("roots that cannot be read are an error") func rootsThatCannotBeReadAreError() throws {
        for anchor in [TrustAnchor.file("/nonexistent"), .file("/dev/null"), .der([]), .der([1, 2, 3])] {
            #expect(throws: TLSError(code: -1200, reason: "unreadable root certificate")) {
                try TrustEvaluator.evaluator(for: .only([anchor]))
            }
        }
    }

    @Test("a chain is parsed completely or not at all") func chainIsParsedCompletelyOrNotAtAll() throws {
        let certificates = try authority.intermediate().issue(.localhost).chain.map(\.der)
        #expect(CertificateChain(der: certificates)?.der == certificates)
        #expect(CertificateChain(der: [certificates[0] + [0]]) == nil)
        #expect(CertificateChain(der: [certificates[0].dropLast()]) == nil)
        #expect(CertificateChain(der: [[]]) == nil)
    }
}
