import Foundation
import TestSupport
import Testing
import URLLoading

/// Certificate evaluation: a live server for each row.
@Suite(.leavesNothing) struct CertificateTableTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// Nil if the server is trusted.
        let code: URLError.Code?
        let host: String
        /// Whether the result depends on the certificates only, so that a trust evaluation has the same result.
        let isAboutTrust: Bool
        let options: @Sendable () throws -> TLSServerOptions
    }

    private static func row(
        _ name: String, _ code: URLError.Code? = nil, host: String = "localhost", isAboutTrust: Bool = true,
        _ options: @escaping @Sendable () throws -> TLSServerOptions
    ) -> Row {
        Row(testDescription: name, code: code, host: host, isAboutTrust: isAboutTrust, options: options)
    }

    /// A row with a leaf signed by the root.
    private static func leaf(
        _ name: String, _ code: URLError.Code? = nil, host: String = "localhost", isAboutTrust: Bool = true,
        _ change: @escaping @Sendable (inout CertificateProfile) -> Void
    ) -> Row {
        row(name, code, host: host, isAboutTrust: isAboutTrust) {
            try TrustedAuthority.server(.localhost.with { change(&$0) })
        }
    }

    /// A row with a valid leaf signed by such an issuer.
    private static func issuer(
        _ name: String, _ code: URLError.Code? = nil, _ change: @escaping @Sendable (inout CertificateProfile) -> Void
    ) -> Row {
        row(name, code) {
            let profile = CertificateProfile.authority("Issuer").with { change(&$0) }
            return try TLSServerOptions(authority: TrustedAuthority.authority.intermediate(profile))
        }
    }

    /// A row with a leaf signed by an issuer that requires a policy.
    private static func policy(
        _ name: String, _ code: URLError.Code? = nil, _ extensions: [String: String]
    ) -> Row {
        row(name, code) {
            let profile = CertificateProfile.authority("Issuer").with {
                $0.extensions = [
                    "policyConstraints": "critical,requireExplicitPolicy:0",
                    "certificatePolicies": "1.3.6.1.4.1.55738.2",
                ]
            }
            return try TLSServerOptions(
                authority: TrustedAuthority.authority.intermediate(profile),
                profile: .localhost.with { $0.extensions = extensions })
        }
    }

    private static func days(_ count: Double)
        -> CertificateProfile.Validity
    {
        // Whole seconds, as in a certificate.
        let start = Date(timeIntervalSince1970: Date(timeIntervalSinceNow: -3_600).timeIntervalSince1970.rounded())
        return .between(start, start.addingTimeInterval((count * 86_400).rounded()))
    }

    private static func named(_ names: CertificateProfile.Name...) -> @Sendable (inout CertificateProfile) -> Void {
        { [names] in $0.names = names }
    }

    /// 2019-06-01, one month before Apple's certificate rules of that year apply.
    private static let june2019 = Date(timeIntervalSince1970: 1_559_347_200)

    private static let accepted = [
        leaf("a name") { _ in },
        leaf("a name in other letters", nil, named("LOCALHOST")),
        leaf("a name with a dot at its end", host: "localhost.") { _ in },
        leaf("an address", host: "127.0.0.1") { _ in },
        leaf("an address of version 6", host: "[::1]") { _ in },
        leaf("a wildcard", host: "a.wild.localhost", named("*.wild.localhost")),
        leaf("an elliptic curve of 384 bits") { $0.key = .elliptic("P-384") },
        leaf("Ed25519") { $0.key = .edwards },
        leaf("RSA of 2048 bits") { $0.key = .rsa(bits: 2048) },
        leaf("SHA-384") { $0.digest = .sha384 },
        leaf("several purposes") { $0.purposes = [.clientAuthentication, .serverAuthentication] },
        leaf("825 days") { $0.validity = days(825) },
        leaf("825 days and an hour") { $0.validity = days(825 + 1 / 24) },
        issuer("an issuer for anything") { $0.purposes = [.other(objectIdentifier: "2.5.29.37.0")] },
        issuer("an issuer for anything and for clients") {
            $0.purposes = [.other(objectIdentifier: "2.5.29.37.0"), .clientAuthentication]
        },
        leaf("no subject, and critical names") { $0.commonName = nil },
        policy("a policy that the issuer asks for", nil, ["certificatePolicies": "1.3.6.1.4.1.55738.2"]),
        leaf("older than the rules of 2019") {
            $0.validity = .between(june2019, Date(timeIntervalSinceNow: 86_400))
            $0.purposes = []
        },
        leaf("an unknown extension") { $0.extensions["1.3.6.1.4.1.55738.1"] = "DER:05:00" },
        row("two issuers") {
            try TLSServerOptions(
                authority: TrustedAuthority.authority.intermediate().intermediate(.authority("Second")))
        },
        row("two issuers in another order, the root, and one that has nothing to do with it") {
            let below = try TrustedAuthority.authority.intermediate().intermediate(.authority("Second"))
            return try TLSServerOptions(authority: below).with {
                $0.sentChain =
                    [try TrustedAuthority.authority.root] + $0.identity.intermediates.reversed()
                    + [try TestCertificateAuthority().root]
            }
        },
        issuer("an issuer that may have no other below it") { $0.pathLength = 0 },
        issuer("an issuer for servers") { $0.purposes = [.serverAuthentication] },
        issuer("an issuer for that name") {
            $0.extensions["nameConstraints"] =
                "critical,permitted;DNS:localhost,permitted;IP:127.0.0.1/255.255.255.255,permitted;IP:::1/FFFF:FFFF:FFFF:FFFF:FFFF:FFFF:FFFF:FFFF"
        },
        row("a root that was signed with SHA-1") {
            try TLSServerOptions(authority: TrustedAuthority.other(.oldSignature))
        },
        row("a response that knows nothing bad") { try stapled(.good) },
        row("a response that knows nothing") { try stapled(.unknown) },
        row("another's revocation") {
            let other = try TrustedAuthority.authority.issue(.localhost).certificate
            return try TrustedAuthority.server().with {
                $0.ocspResponse = try TrustedAuthority.authority.ocspResponse(for: other, status: .revoked)
            }
        },
        row("no forward secrecy") {
            try TrustedAuthority.server(.localhost.with { $0.key = .rsa(bits: 2048) }).with {
                $0.maximumVersion = .tls12
                $0.ciphers = "AES128-GCM-SHA256"
            }
        },
    ]

    private static let untrusted = URLError.Code.serverCertificateUntrusted

    private static let refused = [
        leaf("expired", .serverCertificateHasBadDate) { $0.validity = .expired },
        leaf("not valid yet", .serverCertificateNotYetValid) { $0.validity = .notYetValid },
        row("signed by itself", untrusted) { try TLSServerOptions(TestIdentity.selfSigned(.localhost)) },
        row("an unknown root", .serverCertificateHasUnknownRoot) {
            try TLSServerOptions(authority: TestCertificateAuthority())
        },
        row("an unknown root that comes along", .serverCertificateHasUnknownRoot) {
            let otherAuthority = try TestCertificateAuthority()
            return try TLSServerOptions(authority: otherAuthority).with { $0.sentChain = [otherAuthority.root] }
        },
        row("a root that has the trusted one's name", .serverCertificateHasUnknownRoot) {
            try TLSServerOptions(authority: TestCertificateAuthority(.authority("Test Root")))
        },
        leaf("another name", untrusted, named("other.localhost")),
        leaf("another address", untrusted, host: "127.0.0.1", named("127.0.0.2", "localhost")),
        leaf("an address as a name", untrusted, host: "127.0.0.1", named(.dns("127.0.0.1"))),
        leaf("a name in the common name alone", untrusted) {
            $0.commonName = "localhost"
            $0.names = []
        },
        leaf("a name in the common name, and others in their place", untrusted) {
            $0.commonName = "localhost"
            $0.names = ["other.localhost"]
        },
        leaf("a wildcard for what is above it", untrusted, host: "wild.localhost", named("*.wild.localhost")),
        leaf("a wildcard for two labels", untrusted, host: "a.b.wild.localhost", named("*.wild.localhost")),
        leaf("a wildcard for a part of a label", untrusted, host: "wild.localhost", named("w*.localhost")),
        leaf(
            "a wildcard that is not the first label", untrusted, host: "a.b.wild.localhost", named("a.*.wild.localhost")
        ),
        leaf("a wildcard for a top-level domain", untrusted, host: "a.localhost", named("*.localhost")),
        leaf("a wildcard for everything", untrusted, named("*")),
        leaf("a name that goes on after a zero", untrusted, named(.rawDNS(Array("localhost\0.evil.example".utf8)))),
        leaf("no purpose", untrusted) { $0.purposes = [] },
        leaf("for clients", untrusted) { $0.purposes = [.clientAuthentication] },
        leaf("for anything", untrusted) { $0.purposes = [.other(objectIdentifier: "2.5.29.37.0")] },
        leaf("RSA of 1024 bits", untrusted) { $0.key = .rsa(bits: 1024) },
        leaf("an elliptic curve of 224 bits", .secureConnectionFailed, isAboutTrust: false) {
            // No client offers that curve.
            $0.key = .elliptic("secp224r1")
        },
        leaf("SHA-1", untrusted) { $0.digest = .sha1 },
        row("MD5", untrusted) {
            // There is none with elliptic curves.
            let issuer = try TrustedAuthority.authority.intermediate(
                .authority("Issuer").with { $0.key = .rsa(bits: 2048) })
            return try TLSServerOptions(authority: issuer, profile: .localhost.with { $0.digest = .md5 })
        },
        leaf("826 days", untrusted) { $0.validity = days(826) },
        leaf("a second more than 825 days and an hour", untrusted) { $0.validity = days(825 + 3601 / 86_400) },
        leaf("a hundred years", untrusted) { $0.validity = days(36_500) },
        leaf("an unknown critical extension", untrusted) {
            $0.extensions["1.3.6.1.4.1.55738.1"] = "critical,DER:05:00"
        },
        leaf("a key that may sign certificates alone", untrusted) {
            $0.extensions["keyUsage"] = "critical,keyCertSign"
        },
        row("an issuer that does not come along", .serverCertificateHasUnknownRoot) {
            try TLSServerOptions(authority: TrustedAuthority.authority.intermediate()).with { $0.sentChain = [] }
        },
        row("too many issuers", untrusted) {
            let shallow = try TrustedAuthority.authority.intermediate(.authority("Shallow", pathLength: 0))
            return try TLSServerOptions(authority: shallow.intermediate(.authority("Deep")))
        },
        issuer("an issuer that is no authority", untrusted) { $0.isAuthority = false },
        issuer("an issuer that may not sign certificates", untrusted) {
            $0.extensions["keyUsage"] = "critical,digitalSignature"
        },
        issuer("an expired issuer", .serverCertificateHasBadDate) { $0.validity = .expired },
        issuer("an issuer that is not valid yet", .serverCertificateNotYetValid) { $0.validity = .notYetValid },
        issuer("an issuer for clients", untrusted) { $0.purposes = [.clientAuthentication] },
        issuer("an issuer without basic constraints", untrusted) { $0.extensions["basicConstraints"] = "" },
        issuer("an issuer without a subject", untrusted) { $0.commonName = nil },
        leaf("no subject, and names that are not critical", untrusted) {
            $0.commonName = nil
            $0.names = []
            $0.extensions["subjectAltName"] = "DNS:localhost"
        },
        leaf("an extension twice", untrusted) {
            $0.extensions["1.3.6.1.4.1.55738.1"] = "DER:05:00"
            $0.extensions["1.3.6.1.4.1.55738.01"] = "DER:05:00"
        },
        leaf("an extension that cannot be read", untrusted) { $0.extensions["2.5.29.32"] = "DER:05:00" },
        policy("no policy where the issuer asks for one", untrusted, [:]),
        policy("another policy", untrusted, ["certificatePolicies": "1.3.6.1.4.1.55738.3"]),
        issuer("an issuer with critical constraints on identifiers", untrusted) {
            $0.extensions["nameConstraints"] = "critical,permitted;RID:1.2.3.4"
        },
        row("a wildcard for what the issuer may not name", untrusted, host: "b.wild.localhost") {
            let issuer = try TrustedAuthority.authority.intermediate(
                .authority("Issuer").with { $0.extensions["nameConstraints"] = "excluded;DNS:a.wild.localhost" })
            return try TLSServerOptions(authority: issuer, profile: .server("*.wild.localhost"))
        },
        issuer("an issuer with RSA of 1024 bits", untrusted) { $0.key = .rsa(bits: 1024) },
        issuer("an issuer with a curve of 224 bits", untrusted) { $0.key = .elliptic("secp224r1") },
        issuer("an issuer signed with SHA-1", untrusted) { $0.digest = .sha1 },
        issuer("an issuer for other names", untrusted) {
            $0.extensions["nameConstraints"] = "critical,permitted;DNS:other.localhost"
        },
        issuer("an issuer for all names but this", untrusted) {
            $0.extensions["nameConstraints"] = "critical,excluded;DNS:localhost"
        },
        issuer("an issuer with an unknown critical extension", untrusted) {
            $0.extensions["1.3.6.1.4.1.55738.1"] = "critical,DER:05:00"
        },
        row("an expired root", .serverCertificateHasBadDate) {
            try TLSServerOptions(authority: TrustedAuthority.other(.expired))
        },
        row("a root with a weak key", untrusted) { try TLSServerOptions(authority: TrustedAuthority.other(.weakKey)) },
        row("revoked", untrusted) { try stapled(.revoked) },
        // TLS 1.2 shows the response only after the certificate was judged.
        row("revoked, reported late", untrusted) { try stapled(.revoked).with { $0.maximumVersion = .tls12 } },
        row("no certificate", .secureConnectionFailed, isAboutTrust: false) {
            try TrustedAuthority.server().with { $0.showsCertificate = false }
        },
        row("TLS 1.0", .secureConnectionFailed, isAboutTrust: false) { try server(.tls10) },
        row("TLS 1.1", .secureConnectionFailed, isAboutTrust: false) { try server(.tls11) },
    ]

    private static func server(_ version: TLSServerOptions.Version) throws -> TLSServerOptions {
        try TrustedAuthority.server().with {
            $0.minimumVersion = version
            $0.maximumVersion = version
        }
    }

    private static func stapled(_ status: TestCertificateAuthority.RevocationStatus) throws -> TLSServerOptions {
        try TrustedAuthority.server().with {
            $0.ocspResponse = try TrustedAuthority.authority.ocspResponse(for: $0.identity.certificate, status: status)
        }
    }

    // TLS-4, TLS-5, TLS-10
    @Test("a server with such a certificate", arguments: accepted + refused)
    func aServerWithSuchACertificate(row: Row) async throws {
        // The authority has to be in place where the server's certificate is of another.
        _ = try TrustedAuthority.authority
        let options = try row.options()
        let server = try ScriptedServer.answering(.dualStack, tls: options) { _ in .text("ok") }
        defer { server.stop() }
        let url = server.url(host: row.host)
        let session = URLSession { _ in }
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: url)
        let delegate = Outcome()
        task.delegate = delegate
        task.resume()
        let error = try await delegate.ends.waitFor(count: 1)[0]
        #expect(error?.code == row.code, "\(error.map { "\($0)" } ?? "no error")")
        #expect((task.error as? URLError)?.code == row.code)
        #expect(server.requests.count == (row.code == nil ? 1 : 0))
        guard row.isAboutTrust else { return }
        // TLS-5: the broken rule is in the underlying error; the evaluation of a trust has the same message.
        let below = error?.userInfo[NSUnderlyingErrorKey] as? NSError
        #expect(below?.domain == (row.code == nil ? nil : "URLLoadingTLSErrorDomain"))
        // TLS-5: the error has the host.
        #expect((error?.failureURLPeerTrust != nil) == (row.code != nil))
        let refusal = try refusal(options, row.host)
        #expect((refusal == nil) == (row.code == nil))
        #expect(refusal?.localizedFailureReason == below?.localizedDescription)
    }

    /// The result of a load.
    private final class Outcome: NSObject, URLSessionTaskDelegate, Sendable {
        let ends = EventRecorder<URLError?>()

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            ends.record(error as? URLError)
        }
    }

    // AUTH-30: a program that evaluates a trust by itself comes to what the loader does.
    private func refusal(_ options: TLSServerOptions, _ host: String) throws -> NSError? {
        let sent = [options.identity.certificate] + (options.sentChain ?? options.identity.intermediates)
        let chain = try sent.map { try #require(SecCertificateCreateWithData(nil, Data($0.der) as CFData)) }
        var made: SecTrust?
        let policy = SecPolicyCreateSSL(true, host as CFString)
        #expect(SecTrustCreateWithCertificates(chain as CFArray, policy, &made) == errSecSuccess)
        let trust = try #require(made)
        if let response = options.ocspResponse {
            #expect(SecTrustSetOCSPResponse(trust, Data(response) as CFData) == errSecSuccess)
        }
        var error: CFError?
        #expect(SecTrustEvaluateWithError(trust, &error) == (error == nil))
        return error
    }
}
