import Foundation
import TestSupport
import Testing
import URLLoading

/// Trust evaluation without a connection, as in pinning code.
@Suite(.leavesNothing) struct SecTrustTests {
    private let authority: TestCertificateAuthority
    private let identity: TestIdentity

    init() throws {
        _ = try TrustedAuthority.authority
        authority = try TestCertificateAuthority()
        identity = try authority.intermediate().issue(.localhost)
    }

    private func certificate(_ certificate: TestCertificate) throws -> SecCertificate {
        try #require(SecCertificateCreateWithData(kCFAllocatorDefault, Data(certificate.der) as CFData))
    }

    private func trust(
        _ identity: TestIdentity, host: String? = "localhost", anchors: [TestCertificate]? = nil
    ) throws -> SecTrust {
        var trust: SecTrust?
        let chain = try identity.chain.map { try certificate($0) }
        let status = SecTrustCreateWithCertificates(
            chain as CFArray, SecPolicyCreateSSL(true, host.map { $0 as CFString }), &trust)
        #expect(status == errSecSuccess)
        let made = try #require(trust)
        if let anchors {
            let roots = try anchors.map { try certificate($0) }
            #expect(SecTrustSetAnchorCertificates(made, roots as CFArray) == errSecSuccess)
        }
        return made
    }

    /// 0, or the code of the error.
    private func verdict(_ trust: SecTrust) -> Int {
        var error: CFError?
        let isTrusted = SecTrustEvaluateWithError(trust, &error)
        #expect(isTrusted == (error == nil))
        if let error { #expect(error.domain == NSOSStatusErrorDomain) }
        return error?.code ?? 0
    }

    private func result(_ trust: SecTrust) -> SecTrustResultType {
        var result = SecTrustResultType.otherError
        #expect(SecTrustGetTrustResult(trust, &result) == errSecSuccess)
        return result
    }

    // TLS-4, AUTH-30
    @Test func verdicts() throws {
        let root = authority.root
        func issued(_ validity: CertificateProfile.Validity) throws -> TestIdentity {
            try authority.issue(.localhost.with { $0.validity = validity })
        }
        #expect(verdict(try trust(identity, anchors: [root])) == 0)
        #expect(verdict(try trust(identity)) == Int(errSecNotTrusted))
        #expect(verdict(try trust(identity, anchors: [])) == Int(errSecNotTrusted))
        #expect(verdict(try trust(identity, host: "other.example", anchors: [root])) == Int(errSecHostNameMismatch))
        #expect(verdict(try trust(identity, host: "127.0.0.2", anchors: [root])) == Int(errSecHostNameMismatch))
        #expect(verdict(try trust(identity, host: nil, anchors: [root])) == 0)
        #expect(verdict(try trust(issued(.expired), anchors: [root])) == Int(errSecCertificateExpired))
        #expect(verdict(try trust(issued(.notYetValid), anchors: [root])) == Int(errSecCertificateNotValidYet))
        #expect(verdict(try trust(TestIdentity.selfSigned(.localhost))) == Int(errSecNotTrusted))
    }

    // TLS-5
    @Test("the failed rule is named as by the loader") func reasons() throws {
        func reason(_ trust: SecTrust) -> [String?] {
            var error: CFError?
            #expect(!SecTrustEvaluateWithError(trust, &error))
            let below = error?.userInfo[NSUnderlyingErrorKey] as? NSError
            #expect(below?.domain == NSOSStatusErrorDomain)
            #expect(below?.code == error?.code)
            return [error?.localizedDescription, error?.localizedFailureReason, below?.localizedDescription]
        }
        let root = authority.root
        let unknown = "the issuer “Test Root” of “Test Intermediate” is neither in the chain nor a trusted root"
        #expect(reason(try trust(identity)) == ["“Test Server” certificate is not trusted", unknown, unknown])
        let other = "“Test Server” is for localhost, 127.0.0.1, 0:0:0:0:0:0:0:1, not for “other.example”"
        #expect(
            reason(try trust(identity, host: "other.example", anchors: [root])) == [
                "“Test Server” certificate name does not match input", other, other,
            ])
        let until = Date(timeIntervalSince1970: 1_704_067_200)
        let old = try authority.issue(.localhost.with { $0.validity = .between(until.addingTimeInterval(-60), until) })
        let expired = "“Test Server” expired on Mon, 01 Jan 2024 00:00:00 GMT"
        #expect(
            reason(try trust(old, anchors: [root])) == [
                "“Test Server” certificate is expired", expired, expired,
            ])
    }

    // TLS-5: nothing that a server sends moves the cursor
    @Test("a name with control characters in descriptions") func controlCharacters() throws {
        let red = try trust(authority.issue(.localhost.with { $0.commonName = "a\u{1B}[31m\u{202E}b" }))
        var error: CFError?
        #expect(!SecTrustEvaluateWithError(red, &error))
        #expect(error?.localizedDescription == "“a\u{FFFD}[31m\u{FFFD}b” certificate is not trusted")
        let certificate = try #require(SecTrustGetCertificateAtIndex(red, 0))
        #expect(certificate.description == "<SecCertificate: a\u{FFFD}[31m\u{FFFD}b>")
        #expect(SecCertificateCopySubjectSummary(certificate) as String? == "a\u{1B}[31m\u{202E}b")
    }

    @Test func anchors() throws {
        let trusted = try TrustedAuthority.authority.issue(.localhost)
        let both = try trust(trusted, anchors: [authority.root])
        #expect(verdict(both) == Int(errSecNotTrusted))
        #expect(SecTrustSetAnchorCertificatesOnly(both, false) == errSecSuccess)
        #expect(verdict(both) == 0)
        #expect(SecTrustSetAnchorCertificatesOnly(both, true) == errSecSuccess)
        #expect(verdict(both) == Int(errSecNotTrusted))
        var anchors: CFArray?
        #expect(SecTrustCopyCustomAnchorCertificates(both, &anchors) == errSecSuccess)
        #expect(anchors as? [SecCertificate] == [try certificate(authority.root)])
        #expect(SecTrustSetAnchorCertificates(both, nil) == errSecSuccess)
        #expect(verdict(both) == 0)
        #expect(SecTrustCopyCustomAnchorCertificates(both, &anchors) == errSecSuccess)
        #expect(anchors == nil)
        #expect(SecTrustSetAnchorCertificates(both, ["no certificate"] as CFArray) == errSecParam)
        // Only the custom anchors, of which there are none.
        #expect(SecTrustSetAnchorCertificatesOnly(both, true) == errSecSuccess)
        #expect(verdict(both) == Int(errSecNotTrusted))
        #expect(SecTrustSetAnchorCertificatesOnly(both, false) == errSecSuccess)
        #expect(verdict(both) == 0)
    }

    // TLS-5
    @Test("the faults of a chain below a custom anchor beside the system's roots")
    func faultsBelowACustomAnchor() throws {
        let expired = try authority.issue(.localhost.with { $0.validity = .expired })
        for isAlone in [true, false] {
            let trust = try trust(expired, anchors: [authority.root])
            #expect(SecTrustSetAnchorCertificatesOnly(trust, isAlone) == errSecSuccess)
            #expect(verdict(trust) == Int(errSecCertificateExpired))
            #expect(SecTrustGetCertificateCount(trust) == 2)
        }
    }

    // TLS-4: it takes nothing from the system's root of the same name and key
    @Test("a custom anchor that has expired, beside the system's roots") func expiredAnchor() throws {
        let trusted = try TrustedAuthority.authority
        let old = try trusted.identity.renewed(as: .authority("Test Root").with { $0.validity = .expired })
        let trust = try trust(trusted.issue(.localhost), anchors: [old])
        #expect(verdict(trust) == Int(errSecCertificateExpired))
        #expect(SecTrustSetAnchorCertificatesOnly(trust, false) == errSecSuccess)
        #expect(verdict(trust) == 0)
        let root = try certificate(trusted.root)
        #expect(SecTrustGetCertificateAtIndex(trust, 1) == root)
    }

    @Test func policiesAndTime() throws {
        let client = try authority.issue(.client("somebody"))
        let trust = try trust(client, host: nil, anchors: [authority.root])
        #expect(verdict(trust) == Int(errSecNotTrusted))
        #expect(SecTrustSetPolicies(trust, SecPolicyCreateSSL(false, nil)) == errSecSuccess)
        #expect(verdict(trust) == 0)
        #expect(SecTrustSetPolicies(trust, [SecPolicyCreateBasicX509()] as CFArray) == errSecSuccess)
        #expect(verdict(trust) == 0)
        let later = Date(timeIntervalSinceNow: 60 * 86_400)
        #expect(SecTrustSetVerifyDate(trust, later as CFDate) == errSecSuccess)
        #expect(SecTrustGetVerifyTime(trust) == later.timeIntervalSinceReferenceDate)
        #expect(verdict(trust) == Int(errSecCertificateExpired))
        var policies: CFArray?
        #expect(SecTrustCopyPolicies(trust, &policies) == errSecSuccess)
        #expect(policies as? [SecPolicy] == [SecPolicyCreateBasicX509()])
        #expect(SecTrustSetPolicies(trust, NSString("no policy")) == errSecParam)
        let properties = try #require(SecPolicyCopyProperties(SecPolicyCreateSSL(true, "localhost")))
        #expect(properties[kSecPolicyName] as? String == "localhost")
    }

    // TLS-10: also if the anchor is not self-signed
    @Test("revocation", arguments: [(false, true), (true, true), (true, false)])
    func revocation(isPinnedToIntermediate: Bool, anchorsOnly: Bool) throws {
        let issuer = try isPinnedToIntermediate ? authority.intermediate() : authority
        let leaf = try issuer.issue(.localhost)
        let anchor = try #require(isPinnedToIntermediate ? leaf.chain.last : authority.root)
        for (status, plain, strict) in [
            (.good, 0, 0), (.revoked, errSecCertificateRevoked, errSecCertificateRevoked),
            (.unknown, 0, errSecNotTrusted),
        ] as [(TestCertificateAuthority.RevocationStatus, OSStatus, OSStatus)] {
            let trust = try trust(leaf, anchors: [anchor])
            #expect(SecTrustSetAnchorCertificatesOnly(trust, anchorsOnly) == errSecSuccess)
            let response = Data(try issuer.ocspResponse(for: leaf.certificate, status: status))
            #expect(SecTrustSetOCSPResponse(trust, response as CFData) == errSecSuccess)
            #expect(verdict(trust) == Int(plain))
            let policy = try #require(SecPolicyCreateRevocation(kSecRevocationRequirePositiveResponse))
            #expect(
                SecTrustSetPolicies(trust, [SecPolicyCreateSSL(true, "localhost"), policy] as CFArray) == errSecSuccess)
            #expect(verdict(trust) == Int(strict))
            #expect(SecTrustSetOCSPResponse(trust, nil) == errSecSuccess)
            #expect(verdict(trust) == Int(errSecNotTrusted))
        }
    }

    // TLS-10
    @Test("a response about revocation counts at the date of the evaluation") func dateOfAResponse() throws {
        func date(daysAgo days: Double) -> Date { Date(timeIntervalSinceNow: -days * 86_400) }
        func validity(_ from: Double, _ until: Double) -> CertificateProfile.Validity {
            .between(date(daysAgo: from), date(daysAgo: until))
        }
        let old = try TestCertificateAuthority(.authority("Old Root").with { $0.validity = validity(400, -400) })
        let leaf = try old.issue(.localhost.with { $0.validity = validity(390, 300) })
        let required = try #require(SecPolicyCreateRevocation(kSecRevocationRequirePositiveResponse))
        let policies = [SecPolicyCreateSSL(true, "localhost"), required] as CFArray
        for (status, then, later) in [
            (.revoked, errSecCertificateRevoked, errSecNotTrusted), (.good, errSecSuccess, errSecNotTrusted),
        ] as [(TestCertificateAuthority.RevocationStatus, OSStatus, OSStatus)] {
            let trust = try trust(leaf, anchors: [old.root])
            let response = try old.ocspResponse(for: leaf.certificate, status: status, validity: validity(389, 382))
            #expect(SecTrustSetOCSPResponse(trust, Data(response) as CFData) == errSecSuccess)
            #expect(SecTrustSetPolicies(trust, policies) == errSecSuccess)
            #expect(SecTrustSetVerifyDate(trust, date(daysAgo: 385) as CFDate) == errSecSuccess)
            #expect(verdict(trust) == Int(then))
            #expect(SecTrustSetVerifyDate(trust, date(daysAgo: 350) as CFDate) == errSecSuccess)
            #expect(verdict(trust) == Int(later))
        }
    }

    @Test func exceptions() throws {
        let expired = try authority.issue(.localhost.with { $0.validity = .expired })
        let first = try trust(expired, anchors: [authority.root])
        #expect(result(first) == .invalid)
        let exceptions = try #require(SecTrustCopyExceptions(first))
        #expect(result(first) == .recoverableTrustFailure)
        #expect(SecTrustSetExceptions(first, exceptions))
        #expect(verdict(first) == 0)
        #expect(result(first) == .proceed)
        #expect(SecTrustSetExceptions(first, nil))
        #expect(verdict(first) == Int(errSecCertificateExpired))
        // Exceptions apply to no other fault, and to no other certificate.
        let renamed = try trust(expired, host: "other.example", anchors: [])
        #expect(SecTrustSetExceptions(renamed, exceptions))
        #expect(verdict(renamed) == Int(errSecNotTrusted))
        #expect(!SecTrustSetExceptions(try trust(identity), exceptions))
        #expect(!SecTrustSetExceptions(first, Data([1, 2, 3]) as CFData))
        let sound = try trust(identity, anchors: [authority.root])
        #expect(SecTrustCopyExceptions(sound) == nil)
        #expect(result(sound) == .unspecified)
    }

    /// Applies the exceptions of one trust to another.
    private func overlook(_ wrong: SecTrust, in trust: SecTrust) throws -> Int {
        #expect(verdict(wrong) != 0)
        let exceptions = try #require(SecTrustCopyExceptions(wrong))
        #expect(SecTrustSetExceptions(trust, exceptions))
        return verdict(trust)
    }

    // TLS-4, AUTH-30: no fault hides behind another that is overlooked
    @Test("an exception does not cover later faults") func anExceptionDoesNotCoverLaterFaults() throws {
        let unknown = try TestIdentity.selfSigned(.localhost)
        let known = try trust(unknown)
        #expect(try overlook(known, in: try trust(unknown)) == 0)
        #expect(try overlook(known, in: try trust(unknown, host: "other.example")) == Int(errSecHostNameMismatch))
        let later = try trust(unknown)
        #expect(SecTrustSetVerifyDate(later, Date(timeIntervalSinceNow: 60 * 86_400) as CFDate) == errSecSuccess)
        #expect(try overlook(known, in: later) == Int(errSecCertificateExpired))
        #expect(result(later) == .recoverableTrustFailure)
        // A fault of a certificate above is not the leaf's.
        let soon = Date(timeIntervalSinceNow: 10 * 86_400)
        let issued = try authority.intermediate(.authority("Old").with { $0.validity = .expired })
            .issue(.localhost.with { $0.validity = .between(Date(timeIntervalSinceNow: -86_400), soon) })
        let old = try trust(issued, anchors: [authority.root])
        let older = try trust(issued, anchors: [authority.root])
        #expect(try overlook(old, in: older) == 0)
        #expect(SecTrustSetVerifyDate(older, soon.addingTimeInterval(86_400) as CFDate) == errSecSuccess)
        #expect(verdict(older) == Int(errSecCertificateExpired))
    }

    // AUTH-30
    @Test("exceptions are of all faults that there are") func exceptionsAreOfAllFaultsThatThereAre() throws {
        let wrong = try TestIdentity.selfSigned(.localhost.with { $0.validity = .expired })
        func made(_ host: String) throws -> SecTrust { try trust(wrong, host: host) }
        #expect(try overlook(made("other.example"), in: made("other.example")) == 0)
        // A wrong name is overlooked for that name.
        #expect(
            try overlook(made("other.example"), in: made("bank.example")) == Int(errSecHostNameMismatch))
        // Fewer are covered too.
        #expect(try overlook(made("other.example"), in: made("localhost")) == 0)
        #expect(try overlook(made("localhost"), in: made("other.example")) == Int(errSecHostNameMismatch))
        // What is overlooked is still wrong.
        let overlooked = try made("localhost")
        let exceptions = try #require(SecTrustCopyExceptions(overlooked))
        #expect(SecTrustSetExceptions(overlooked, exceptions))
        #expect(verdict(overlooked) == 0)
        #expect(SecTrustCopyExceptions(overlooked) == exceptions)
        // What was cut off on the way is no exception.
        for count in 0..<(exceptions as Data).count {
            #expect(!SecTrustSetExceptions(overlooked, (exceptions as Data).prefix(count) as CFData))
        }
    }

    // TLS-4: what the rules for servers have against a chain is a fault like any other
    @Test("the rules for servers, and their exceptions") func theRulesForServers() throws {
        let start = Date(timeIntervalSinceNow: -3_600)
        let persistent = CertificateProfile.Validity.between(start, start.addingTimeInterval(900 * 86_400))
        func made(_ change: (inout CertificateProfile) -> Void, host: String? = "localhost") throws -> SecTrust {
            try trust(authority.issue(.localhost.with(change)), host: host, anchors: [authority.root])
        }
        for host in ["localhost", nil] {
            #expect(verdict(try made({ $0.validity = persistent }, host: host)) == Int(errSecNotTrusted))
            #expect(verdict(try made({ $0.purposes = [] }, host: host)) == Int(errSecNotTrusted))
            #expect(verdict(try made({ $0.digest = .sha1 }, host: host)) == Int(errSecNotTrusted))
        }
        // They are for servers alone.
        let client = try made {
            $0.purposes = [.clientAuthentication]; $0.validity = persistent
        }
        #expect(verdict(client) == Int(errSecNotTrusted))
        #expect(SecTrustSetPolicies(client, SecPolicyCreateSSL(false, nil)) == errSecSuccess)
        #expect(verdict(client) == 0)
        #expect(SecTrustSetPolicies(client, SecPolicyCreateBasicX509()) == errSecSuccess)
        #expect(verdict(client) == 0)
        // All that is wrong is overlooked, and not only the first of it.
        let identity = try authority.issue(
            .localhost.with {
                $0.purposes = []
                $0.validity = persistent
            })
        let wrong = try trust(identity, anchors: [authority.root])
        #expect(try overlook(wrong, in: trust(identity, anchors: [authority.root])) == 0)
        #expect(result(wrong) == .recoverableTrustFailure)
        // But nothing that was not there then.
        #expect(try overlook(wrong, in: trust(identity, anchors: [])) == Int(errSecNotTrusted))
        #expect(
            try overlook(wrong, in: trust(identity, host: "other.example", anchors: [authority.root]))
                == Int(errSecHostNameMismatch))
    }

    // TLS-10
    @Test("revocation has no exception") func revocationIsNotOverlooked() throws {
        let issuer = try authority.intermediate()
        let leaf = try issuer.issue(.localhost)
        let response = Data(try issuer.ocspResponse(for: leaf.certificate, status: .revoked))
        for (host, anchors) in [("localhost", []), ("other.example", [authority.root])] {
            let wrong = try trust(leaf, host: host, anchors: anchors)
            let revoked = try trust(leaf, host: host, anchors: anchors)
            #expect(SecTrustSetOCSPResponse(revoked, response as CFData) == errSecSuccess)
            #expect(try overlook(wrong, in: revoked) == Int(errSecCertificateRevoked))
            #expect(result(revoked) == .fatalTrustFailure)
            #expect(SecTrustCopyExceptions(revoked) == nil)
        }
        // A forger revokes nothing.
        let forged = Data(try TestCertificateAuthority().ocspResponse(for: leaf.certificate, status: .revoked))
        let wrong = try trust(leaf, anchors: [])
        let accused = try trust(leaf, anchors: [])
        #expect(SecTrustSetOCSPResponse(accused, forged as CFData) == errSecSuccess)
        #expect(try overlook(wrong, in: accused) == 0)
    }

    @Test func chain() throws {
        let trust = try trust(identity, anchors: [authority.root])
        let whole = try (identity.chain + [authority.root]).map { try certificate($0) }
        #expect(SecTrustCopyCertificateChain(trust) as? [SecCertificate] == whole)
        #expect(SecTrustGetCertificateCount(trust) == 3)
        #expect(SecTrustGetCertificateAtIndex(trust, 2) == whole[2])
        #expect(SecTrustGetCertificateAtIndex(trust, 3) == nil)
        #expect(SecTrustGetCertificateAtIndex(trust, -1) == nil)
        let unfinished = try self.trust(identity)
        #expect(SecTrustCopyCertificateChain(unfinished) as? [SecCertificate] == Array(whole.dropLast()))
        #expect(SecTrustCopyKey(trust) == SecCertificateCopyKey(whole[0]))
        #expect(SecTrustCopyPublicKey(trust) == SecTrustCopyKey(trust))
        let copy = try #require(SecTrustCopyResult(trust))
        #expect(copy["TrustResultValue"] as? UInt32 == SecTrustResultType.unspecified.rawValue)
    }

    // TLS-4
    @Test("the properties of an evaluation") func properties() throws {
        func properties(_ trust: SecTrust) -> [[String: String]]? {
            SecTrustCopyProperties(trust) as? [[String: String]]
        }
        let names = ["Test Server", "Test Intermediate", "Test Root"].map { [kSecPropertyTypeTitle as String: $0] }
        let sound = try trust(identity, anchors: [authority.root])
        #expect(properties(sound) == [])
        #expect(verdict(sound) == 0)
        #expect(properties(sound) == names)
        #expect(SecTrustSetVerifyDate(sound, Date() as CFDate) == errSecSuccess)
        #expect(properties(sound) == [])
        // The leaf is the only one that has ended then.
        let soon = CertificateProfile.Validity.between(Date(timeIntervalSinceNow: -60), Date(timeIntervalSinceNow: 60))
        let expired = try trust(
            authority.intermediate().issue(.localhost.with { $0.validity = soon }), anchors: [authority.root])
        #expect(SecTrustSetVerifyDate(expired, Date(timeIntervalSinceNow: 3_600) as CFDate) == errSecSuccess)
        #expect(verdict(expired) == Int(errSecCertificateExpired))
        let errors = try #require(properties(expired)).map { $0[kSecPropertyTypeError as String] }
        #expect(errors.count == 3)
        #expect(errors[0]?.hasPrefix("“Test Server” expired on ") == true)
        #expect(errors.dropFirst() == [nil, nil])
    }

    @Test func noCertificates() {
        var trust: SecTrust?
        #expect(SecTrustCreateWithCertificates(NSArray(), nil, &trust) == errSecParam)
        #expect(SecTrustCreateWithCertificates(["x"] as CFArray, nil, &trust) == errSecParam)
        #expect(trust == nil)
    }

    @Test func evaluationOnAQueue() async throws {
        let queue = DispatchQueue(label: "evaluation")
        let key = DispatchSpecificKey<Bool>()
        queue.setSpecific(key: key, value: true)
        let results = EventRecorder<[Int]>()
        for (trust, _) in try [(trust(identity), 1), (trust(identity, anchors: [authority.root]), 2)] {
            let status = SecTrustEvaluateAsyncWithError(trust, queue) { same, isTrusted, error in
                let isThere = DispatchQueue.getSpecific(key: key) == true && same === trust
                results.record([isThere ? 1 : 0, isTrusted ? 1 : 0, error?.code ?? 0])
            }
            #expect(status == errSecSuccess)
        }
        let sorted = try await results.waitFor(count: 2).sorted { $0[1] < $1[1] }
        #expect(sorted == [[1, 0, Int(errSecNotTrusted)], [1, 1, 0]])
    }

    @Test func manyThreads() throws {
        let trust = try trust(identity, anchors: [authority.root])
        let other = try certificate(TrustedAuthority.authority.root)
        let right = try certificate(authority.root)
        DispatchQueue.concurrentPerform(iterations: 200) { index in
            _ = SecTrustSetAnchorCertificates(trust, [index.isMultiple(of: 2) ? other : right] as CFArray)
            _ = SecTrustEvaluateWithError(trust, nil)
        }
        _ = SecTrustSetAnchorCertificates(trust, [right] as CFArray)
        #expect(verdict(trust) == 0)
    }
}
