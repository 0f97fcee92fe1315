import LoadingSemantics
import Testing

@Suite struct TransportSecurityRequirementsTests {
    private typealias Requirements = TransportSecurityRequirements

    /// 32 bytes of a number, and their Base64.
    private let digests: [[UInt8]] = (0..<4).map { Array(repeating: $0, count: 32) }
    private let texts = [
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=",
        "AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=", "AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM=",
    ]

    private func identities(_ texts: [String]) -> PropertyListValue {
        .array(texts.map { .dictionary(["SPKI-SHA256-BASE64": .string($0)]) })
    }

    private func security(
        _ pinned: [String: PropertyListValue], _ more: [String: PropertyListValue] = [:]
    ) -> AppTransportSecurity {
        var settings = more
        settings["NSPinnedDomains"] = .dictionary(["a.example": .dictionary(pinned)])
        return AppTransportSecurity(settings)
    }

    private func requirements(_ security: AppTransportSecurity, _ url: String) throws -> Requirements? {
        if case .requirements(let requirements) = security.decide(try HTTPURL(url)) { requirements } else { nil }
    }

    // TLS-2
    @Test(
        "Version and cipher suite must satisfy the requirements",
        arguments: [
            (0x0303, 0xC02F, nil), (0x0303, 0xC030, nil), (0x0303, 0xC02B, nil), (0x0303, 0xCCA8, nil),
            (0x0303, 0xC013, nil), (0x0304, 0x1301, nil), (0x0304, 0x1303, nil), (0x0302, 0xC013, .version),
            (0x0301, 0x002F, .version), (0x0303, 0x009C, .forwardSecrecy), (0x0303, 0x002F, .forwardSecrecy),
            // Ephemeral, but not over elliptic curves.
            (0x0303, 0x009E, .forwardSecrecy),
        ] as [(UInt16, UInt16, Requirements.Violation?)])
    private func connections(version: UInt16, cipher: UInt16, violation: Requirements.Violation?) {
        let requirements = Requirements(minimumVersion: .tls12, needsForwardSecrecy: true)
        #expect(requirements.violation(isTrusted: true, version: version, cipher: cipher, keys: []) == violation)
        #expect(Requirements().violation(isTrusted: true, version: version, cipher: cipher, keys: []) == nil)
        let newest = Requirements(minimumVersion: .tls13)
        #expect(
            newest.violation(isTrusted: true, version: version, cipher: cipher, keys: [])
                == (version < 0x0304 ? .version : nil))
    }

    // TLS-2
    @Test("A decision of the delegate does not replace required trust")
    private func trust() {
        for isTrusted in [true, false] {
            let violation = Requirements(needsTrust: true).violation(
                isTrusted: isTrusted, version: 0x0301, cipher: 0, keys: [])
            #expect(violation == (isTrusted ? nil : .trust))
            #expect(Requirements().violation(isTrusted: isTrusted, version: 0x0301, cipher: 0, keys: []) == nil)
        }
        #expect(Requirements(needsTrust: true).needsEvaluation)
        #expect(Requirements(pins: ServerPins()).needsEvaluation)
        #expect(!Requirements(minimumVersion: .tls13, needsForwardSecrecy: true).needsEvaluation)
    }

    // TLS-1
    @Test("CA pins match above the leaf, leaf pins the leaf, and both are required if both are set")
    func pins() throws {
        let leaf = security(["NSPinnedLeafIdentities": identities([texts[0], texts[1]])])
        let authority = security(["NSPinnedCAIdentities": identities([texts[2], texts[3]])])
        let both = security([
            "NSPinnedLeafIdentities": identities([texts[0]]), "NSPinnedCAIdentities": identities([texts[3]]),
        ])
        for (chain, isLeaf, isAuthority, isBoth) in [
            ([0, 2, 3], true, true, true), ([1, 2], true, true, false), ([0], true, false, false),
            ([2, 1], false, false, false), ([3], false, false, false), ([2, 3], false, true, false),
            ([0, 1, 2], true, true, false), ([], false, false, false),
        ] as [([Int], Bool, Bool, Bool)] {
            let keys = chain.map { digests[$0] }
            for (security, isMet) in [(leaf, isLeaf), (authority, isAuthority), (both, isBoth)] {
                let requirements = try #require(try requirements(security, "https://a.example/"))
                let violation = requirements.violation(isTrusted: true, version: 0x0304, cipher: 0x1301, keys: keys)
                #expect(violation == (isMet ? nil : .pins), "\(chain)")
            }
        }
    }

    // TLS-1
    @Test("Pins apply regardless of other settings, to their domain only")
    func reach() throws {
        let pinned = ["NSPinnedLeafIdentities": identities([texts[0]])]
        let pins = ServerPins(leaves: [digests[0]])
        for more in [
            ["NSAllowsArbitraryLoads": .boolean(true)],
            ["NSExceptionDomains": .dictionary(["a.example": .dictionary([:])])], [:],
        ] as [[String: PropertyListValue]] {
            #expect(try requirements(security(pinned, more), "https://a.example:81/")?.pins == pins)
            #expect(try requirements(security(pinned, more), "https://b.example/")?.pins == nil)
            #expect(try requirements(security(pinned, more), "https://b.a.example/")?.pins == nil)
        }
        let loose = security(pinned, ["NSAllowsArbitraryLoads": .boolean(true)])
        #expect(try requirements(loose, "https://a.example/") == Requirements(pins: pins))
        #expect(loose.decide(try HTTPURL("http://a.example/")) == .allowed)
        var wide = pinned
        wide["NSIncludesSubdomains"] = .boolean(true)
        #expect(try requirements(security(wide), "https://b.a.example/")?.pins == pins)
        #expect(try requirements(security(wide), "https://c.b.a.example/")?.pins == nil)
        let local = AppTransportSecurity([
            "NSAllowsLocalNetworking": .boolean(true),
            "NSPinnedDomains": .dictionary(["localhost": .dictionary(pinned), "::1": .dictionary(pinned)]),
        ])
        for url in ["https://localhost/", "https://[::1]/"] {
            #expect(try requirements(local, url) == Requirements(pins: pins))
        }
    }

    // TLS-1: a typing error must not weaken security.
    @Test("Invalid pins are ignored, unless all are invalid")
    func unreadable() throws {
        let some = security([
            "NSPinnedLeafIdentities": .array([
                .string(texts[0]), .dictionary([:]), .dictionary(["SPKI-SHA256-BASE64": .other]),
                .dictionary(["SPKI-SHA256-BASE64": .string(texts[0] + "=")]),
                .dictionary(["SPKI-SHA256-BASE64": .string("AAAA")]),
                .dictionary(["SPKI-SHA256-BASE64": .string(texts[1])]),
            ])
        ])
        #expect(try requirements(some, "https://a.example/")?.pins == ServerPins(leaves: [digests[1]]))
        #expect(some.issues.map(\.path.last) == ["0", "1", "2", "3", "4"])
        #expect(some.issues.allSatisfy { $0.reason == .notDigest })
        for list in [.array([]), .string(texts[0]), identities(["x"])] as [PropertyListValue] {
            let none = security(["NSPinnedCAIdentities": list])
            let requirements = try #require(try requirements(none, "https://a.example/"))
            #expect(requirements.violation(isTrusted: true, version: 0x0304, cipher: 0x1301, keys: digests) == .pins)
            #expect(none.issues.last?.reason == .noReadablePins)
        }
        let empty = security([:])
        let defaults = try #require(try requirements(empty, "https://a.example/"))
        #expect(defaults.violation(isTrusted: true, version: 0x0304, cipher: 0x1301, keys: digests) == .pins)
        #expect(
            empty.issues == [TransportSecurityIssue(path: ["NSPinnedDomains", "a.example"], reason: .noPins)])
    }
}
