import Foundation
import LoadingTransport
import TestSupport
import Testing

/// Chains, one per line, and the rule that refuses each (TLS-4, RFC 5280 §6.1).
@Suite struct CertificateChainTableTests {
    /// The profiles of a chain: root, intermediates and leaf, in this order.
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let root: CertificateProfile
        let issuers: [CertificateProfile]
        let leaf: CertificateProfile
        let host: String
        let purposes: [TrustPolicy.Purpose]
        /// Nil if the chain is trusted; else a part of the reason.
        let reason: String?
    }

    private typealias Profile = CertificateProfile
    private static let root = Profile.authority("Root")
    private static let issuer = Profile.authority("Issuer")

    private static func row(
        _ name: String, _ reason: String? = nil, root: CertificateProfile = root, issuers: [CertificateProfile] = [],
        leaf: CertificateProfile = .localhost, host: String = "localhost",
        for purposes: [TrustPolicy.Purpose] = [.server, .any]
    ) -> Row {
        Row(
            testDescription: name, root: root, issuers: issuers, leaf: leaf, host: host, purposes: purposes,
            reason: reason)
    }

    private static func root(_ extensions: [String: String]) -> CertificateProfile {
        root.with { $0.extensions = extensions }
    }
    private static func issuer(_ extensions: [String: String], _ name: String = "Issuer") -> CertificateProfile {
        .authority(name).with { $0.extensions = extensions }
    }
    private static func leaf(_ extensions: [String: String]) -> CertificateProfile {
        .localhost.with { $0.extensions = extensions }
    }
    private static let second = Profile.authority("Second")

    private static let (one, other) = ("1.3.6.1.4.1.55738.2", "1.3.6.1.4.1.55738.3")
    private static let any = "2.5.29.32.0"
    private static func policies(_ policies: String) -> [String: String] { ["certificatePolicies": policies] }
    /// An authority with `requireExplicitPolicy` 0.
    private static func requiringPolicy(_ policies: String? = nil) -> CertificateProfile {
        var extensions = ["policyConstraints": "critical,requireExplicitPolicy:0"]
        extensions["certificatePolicies"] = policies
        return issuer(extensions)
    }
    private static let noPolicy = "no certificate policy is valid"

    // RFC 5280 §4.2.1.4, §4.2.1.5, §4.2.1.11, §4.2.1.14
    private static let policyRows = [
        row("no policies"), row("a policy in the leaf only", leaf: leaf(policies(one))),
        row("different policies, none required", issuers: [issuer(policies(one))], leaf: leaf(policies(other))),
        row("the required policy", issuers: [requiringPolicy(one)], leaf: leaf(policies(one))),
        row(
            "anyPolicy in the issuer, one policy in the leaf", issuers: [requiringPolicy(any)],
            leaf: leaf(policies(one))),
        row(
            "one policy in the issuer, anyPolicy in the leaf", issuers: [requiringPolicy(one)],
            leaf: leaf(policies(any))),
        row(
            "the required policy among others", issuers: [requiringPolicy("\(one),\(other)")],
            leaf: leaf(policies(other))),
        row("no policy, one required", noPolicy, issuers: [requiringPolicy(one)]),
        row("another policy than required", noPolicy, issuers: [requiringPolicy(one)], leaf: leaf(policies(other))),
        row(
            "the issuer has no policy and requires one", noPolicy, issuers: [requiringPolicy()],
            leaf: leaf(policies(one))),
        row(
            "the leaf requires a policy", noPolicy,
            leaf: leaf(["policyConstraints": "critical,requireExplicitPolicy:0"])),
        row(
            "a policy is required after two more certificates, of which there is one",
            issuers: [issuer(["policyConstraints": "requireExplicitPolicy:2"])]),
        row(
            "a policy is required after one more certificate", noPolicy,
            issuers: [issuer(["policyConstraints": "requireExplicitPolicy:1"]), second]),
        row("the root's requirement is ignored", root: root(["policyConstraints": "critical,requireExplicitPolicy:0"])),
        row(
            "anyPolicy where it is inhibited", noPolicy,
            issuers: [
                issuer([
                    "policyConstraints": "critical,requireExplicitPolicy:0", "certificatePolicies": one,
                    "inhibitAnyPolicy": "critical,0",
                ])
            ], leaf: leaf(policies(any))),
        row(
            "anyPolicy where it is inhibited from here on", noPolicy,
            issuers: [
                issuer([
                    "policyConstraints": "critical,requireExplicitPolicy:0", "certificatePolicies": any,
                    "inhibitAnyPolicy": "critical,1",
                ]), issuer(policies(any), "Second"),
            ], leaf: leaf(policies(any))),
        row("anyPolicy inhibited, none required", issuers: [issuer(["inhibitAnyPolicy": "critical,0"])]),
        row(
            "a policy that is mapped from another",
            issuers: [
                issuer([
                    "policyConstraints": "critical,requireExplicitPolicy:0", "certificatePolicies": one,
                    "policyMappings": "critical,\(one):\(other)",
                ])
            ], leaf: leaf(policies(other))),
        row(
            "a policy that is mapped to another", noPolicy,
            issuers: [
                issuer([
                    "policyConstraints": "critical,requireExplicitPolicy:0", "certificatePolicies": one,
                    "policyMappings": "critical,\(one):\(other)",
                ])
            ], leaf: leaf(policies(one))),
        row(
            "a policy mapping where it is inhibited", noPolicy,
            issuers: [
                issuer([
                    "policyConstraints": "critical,requireExplicitPolicy:0,inhibitPolicyMapping:0",
                    "certificatePolicies": one,
                ]),
                issuer(["certificatePolicies": one, "policyMappings": "critical,\(one):\(other)"], "Second"),
            ], leaf: leaf(policies(other))),
    ]

    private static let noAuthority = "may not issue certificates"

    // RFC 5280 §4.2.1.9, §4.1.2.6
    private static let authorityRows = [
        row("a root without basic constraints", noAuthority, root: root(["basicConstraints": ""])),
        row(
            "a root with CA:FALSE", noAuthority, root: root(["basicConstraints": "critical,CA:FALSE"]),
            issuers: [issuer]),
        row("an issuer without basic constraints", noAuthority, issuers: [issuer(["basicConstraints": ""])]),
        row("an issuer that is not an authority", noAuthority, issuers: [issuer.with { $0.isAuthority = false }]),
        row(
            "an issuer that may not sign certificates", "(key usage)",
            issuers: [issuer(["keyUsage": "digitalSignature"])]),
        row("basic constraints that are not critical", issuers: [issuer(["basicConstraints": "CA:TRUE"])]),
        row("an issuer without key usage", root: root(["keyUsage": ""]), issuers: [issuer(["keyUsage": ""])]),
        row("an X.509 version 1 root", root: root.with { $0.version = 1 }, issuers: [issuer]),
        row(
            "an X.509 version 1 issuer", "may not", issuers: [issuer.with { $0.version = 1 }]),
        row(
            "one issuer more than the path length allows", "path lengths", root: .authority("Root", pathLength: 0),
            issuers: [issuer]),
        row("as many issuers as the path length allows", root: .authority("Root", pathLength: 1), issuers: [issuer]),
        row("a root without a subject", "no subject", root: root.with { $0.commonName = nil }),
        row("an issuer without a subject", "no subject", issuers: [issuer.with { $0.commonName = nil }]),
        row("no subject, but critical subject alternative names", leaf: .localhost.with { $0.commonName = nil }),
        row(
            "no subject, and names that are not critical", "not critical",
            leaf: .localhost.with {
                $0.commonName = nil
                $0.names = []
                $0.extensions["subjectAltName"] = "DNS:localhost"
            }),
    ]

    private static let (unknown, again) = ("1.3.6.1.4.1.55738.1", "1.3.6.1.4.1.55738.01")
    private static let unreadable = "cannot be read"

    // RFC 5280 §4.2
    private static let extensionRows = [
        row("an unknown extension", leaf: leaf([unknown: "DER:05:00"])),
        row("an unknown critical extension", "not known", leaf: leaf([unknown: "critical,DER:05:00"])),
        row("an issuer's unknown critical extension", "not known", issuers: [issuer([unknown: "critical,DER:05:00"])]),
        row("an unknown extension twice", "twice", leaf: leaf([unknown: "DER:05:00", again: "DER:05:00"])),
        row("an issuer's extension twice", "twice", issuers: [issuer([unknown: "DER:05:00", again: "DER:05:00"])]),
        row("a root's extension twice", "twice", root: root([unknown: "DER:05:00", again: "DER:05:00"])),
        row("a known extension twice", "twice", leaf: leaf(["subjectAltName": "DNS:a.test"]), for: [.any]),
        row("empty policies", unreadable, leaf: leaf(["2.5.29.32": "DER:30:00"])),
        row("malformed policies", unreadable, leaf: leaf(["2.5.29.32": "DER:02:01:01"])),
        row("an issuer's malformed policies", unreadable, issuers: [issuer(["2.5.29.32": "DER:02:01:01"])]),
        row("a root's malformed policies", unreadable, root: root(["2.5.29.32": "DER:02:01:01"])),
        row("empty CRL distribution points", unreadable, leaf: leaf(["2.5.29.31": "DER:30:00"])),
        row(
            "an issuer's OCSP location that is not a URI", unreadable,
            issuers: [issuer(["authorityInfoAccess": "OCSP;DNS:a.test"])]),
        row(
            "an issuer's OCSP location that is a URI",
            issuers: [issuer(["authorityInfoAccess": "OCSP;URI:http://a.test"])]),
        row("malformed inhibitAnyPolicy", unreadable, issuers: [issuer(["2.5.29.54": "DER:05:00"])]),
        row("a malformed private key usage period is ignored", leaf: leaf(["2.5.29.16": "DER:05:00"])),
    ]

    // RFC 5280 §4.2.1.12
    private static let anything = Profile.Purpose.other(objectIdentifier: "2.5.29.37.0")
    private static func issuer(for purposes: CertificateProfile.Purpose...) -> CertificateProfile {
        issuer.with { [purposes] in $0.purposes = purposes }
    }
    private static let wrongPurpose = "is not for TLS"
    private static let purposeRows = [
        row("an issuer with serverAuth", issuers: [issuer(for: .serverAuthentication)]),
        row("an issuer with anyExtendedKeyUsage", issuers: [issuer(for: anything)]),
        row(
            "an issuer with anyExtendedKeyUsage and clientAuth", issuers: [issuer(for: anything, .clientAuthentication)]
        ),
        row(
            "an issuer with anyExtendedKeyUsage, below one with serverAuth",
            issuers: [issuer(for: .serverAuthentication), second.with { $0.purposes = [anything] }]),
        row("a root with anyExtendedKeyUsage", root: root.with { $0.purposes = [anything] }),
        row(
            "an issuer with clientAuth", "extended key usage", issuers: [issuer(for: .clientAuthentication)],
            for: [.server]
        ),
        row(
            "an issuer with anyExtendedKeyUsage, without keyCertSign", "(key usage)",
            issuers: [issuer(for: anything).with { $0.extensions["keyUsage"] = "digitalSignature" }]),
        row(
            "a leaf with anyExtendedKeyUsage", "extended key usage", leaf: .localhost.with { $0.purposes = [anything] },
            for: [.server]),
        row(
            "a leaf without extended key usage", "no extended key usage", leaf: .localhost.with { $0.purposes = [] },
            for: [.server]),
        row(
            "a leaf with clientAuth", "extended key usage",
            leaf: .client("localhost").with { $0.names = ["localhost"] },
            for: [.server]),
        row(
            "a leaf with clientAuth, below an issuer with anyExtendedKeyUsage", issuers: [issuer(for: anything)],
            leaf: .client("a").with { $0.names = ["localhost"] }, for: [.client]),
        row("a server certificate, checked for clients", "not for TLS clients", for: [.client]),
        row(
            "a leaf with keyCertSign only", "by its key usage", leaf: leaf(["keyUsage": "keyCertSign"]), for: [.server]
        ),
    ]

    private static let outside = "outside the name constraints"
    private static func constrained(_ constraints: String) -> [CertificateProfile] {
        [issuer(["nameConstraints": constraints])]
    }
    private static func named(_ names: CertificateProfile.Name...) -> CertificateProfile {
        .localhost.with { [names] in $0.names = names }
    }

    // RFC 5280 §4.2.1.10
    private static let constraintRows = [
        row(
            "a permitted name", issuers: constrained("critical,permitted;DNS:a.test"), leaf: named("b.a.test"),
            host: "b.a.test"),
        row(
            "a name that is not permitted", outside, issuers: constrained("critical,permitted;DNS:a.test"),
            leaf: named("a.test", "b.test"), host: "a.test"),
        row(
            "an excluded name", outside, issuers: constrained("excluded;DNS:a.test"), leaf: named("b.a.test"),
            host: "b.a.test"),
        row(
            "a wildcard below an excluded name", outside, issuers: constrained("excluded;DNS:a.test"),
            leaf: named("*.a.test"), host: "b.a.test"),
        row(
            "a wildcard that covers an excluded name", outside, issuers: constrained("excluded;DNS:b.a.test"),
            leaf: named("*.a.test"), host: "c.a.test"),
        row(
            "a wildcard that covers an excluded name, among other names", outside,
            issuers: constrained("excluded;DNS:B.A.test"),
            leaf: named("c.test", "*.a.Test"), host: "c.test"),
        row(
            "a wildcard above an excluded name", issuers: constrained("excluded;DNS:c.b.a.test"),
            leaf: named("*.a.test"),
            host: "b.a.test"),
        row(
            "a wildcard beside an excluded name", issuers: constrained("excluded;DNS:b.b.test"),
            leaf: named("*.a.test"),
            host: "b.a.test"),
        row(
            "a wildcard that covers a name excluded by the root", outside,
            root: root(["nameConstraints": "excluded;DNS:b.a.test"]),
            leaf: named("*.a.test"), host: "c.a.test"),
        row(
            "critical constraints on registered identifiers", "unsupported kind",
            issuers: constrained("critical,permitted;RID:1.2.3.4")),
        row("constraints on registered identifiers", issuers: constrained("permitted;RID:1.2.3.4")),
        row(
            "constraints on mailboxes, URIs and directory names",
            issuers: constrained("critical,excluded;email:a.test,excluded;URI:a.test")),
    ]

    private static let countries = row(
        "a wildcard for a country's companies", "right below a public suffix", leaf: named("*.co.uk"),
        host: "apple.co.uk", for: [.server])
    private static let nameRows = [
        countries,
        row(
            "a wildcard for a country's offices", "right below", leaf: named("*.gov.au"), host: "a.gov.au",
            for: [.server]),
        // What only the Public Suffix List determines: a suffix, a wildcard rule, and its exception.
        row(
            "a wildcard for a prefecture", "right below", leaf: named("*.tokyo.jp"), host: "a.tokyo.jp", for: [.server]),
        row(
            "a wildcard for a ward of a city", "right below", leaf: named("*.nakahara.kawasaki.jp"),
            host: "a.nakahara.kawasaki.jp", for: [.server]),
        row("a wildcard for a city", leaf: named("*.city.kawasaki.jp"), host: "a.city.kawasaki.jp"),
        row("a wildcard for a company", leaf: named("*.example.co.uk"), host: "a.example.co.uk"),
        row("a wildcard below a private suffix", leaf: named("*.github.io"), host: "a.github.io"),
        row("a name below a suffix", leaf: named("apple.co.uk"), host: "apple.co.uk"),
        row("a wildcard for a suffix, and the name itself", leaf: named("*.co.uk", "apple.co.uk"), host: "apple.co.uk"),
    ]

    private func evaluate(_ row: Row, for purpose: TrustPolicy.Purpose) throws -> [TrustFault] {
        let root = try TestCertificateAuthority(row.root)
        let issuer = try row.issuers.reduce(root) { try $0.intermediate($1) }
        let evaluator = try TrustEvaluator.evaluator(for: .only([.der(root.root.der)]))
        let chain = try #require(CertificateChain(der: issuer.issue(row.leaf).chain.map(\.der)))
        var host: String? = row.host
        if case .server = purpose {
            let verdict = evaluator.evaluate(chain, host: row.host, at: now)
            var built: CertificateChain?
            let faults = try evaluator.faults(
                of: chain, TrustPolicy(purpose: purpose, host: host, time: now), built: &built)
            // The loader's evaluation gives the same result as the one that collects all faults.
            #expect(verdict == (faults.first.map { .rejected($0.error) } ?? .trusted))
            return faults
        }
        host = nil
        var built: CertificateChain?
        return try evaluator.faults(
            of: chain, TrustPolicy(purpose: purpose, host: host, time: now), built: &built)
    }

    @Test(
        "rules for chains",
        arguments: policyRows + authorityRows + extensionRows + purposeRows + constraintRows + nameRows)
    func rulesForChains(row: Row) throws {
        for purpose in row.purposes {
            let faults = try evaluate(row, for: purpose)
            guard let reason = row.reason else {
                #expect(faults == [])
                continue
            }
            #expect(faults.map(\.error.code).contains(-1202))
            #expect(faults.contains { $0.error.reason.contains(reason) }, "\(faults)")
        }
    }
}
