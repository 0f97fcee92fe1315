import LoadingSemantics
import Testing

@Suite struct AppTransportSecurityTests {
    private typealias Requirements = TransportSecurityRequirements

    private static let standard = Requirements(needsTrust: true, minimumVersion: .tls12, needsForwardSecrecy: true)

    private func decide(
        _ settings: [String: PropertyListValue], _ url: String
    ) throws -> AppTransportSecurity.Decision {
        AppTransportSecurity(settings).decide(try HTTPURL(url))
    }

    private func domain(_ name: String, _ settings: [String: PropertyListValue]) -> [String: PropertyListValue] {
        ["NSExceptionDomains": .dictionary([name: .dictionary(settings)])]
    }

    // TLS-3
    @Test(
        "Without settings everything is allowed",
        arguments: ["http://a.example/", "https://a.example/", "ws://1.2.3.4/"])
    func off(url: String) throws {
        #expect(AppTransportSecurity.off.decide(try HTTPURL(url)) == .allowed)
        let other = AppTransportSecurity(info: ["CFBundleIdentifier": .string("x")])
        #expect(other.decide(try HTTPURL(url)) == .allowed)
        #expect(other.issues.isEmpty)
    }

    // TLS-1, TLS-2, R-15
    @Test("With settings, even empty ones, connections must be secure")
    func on() throws {
        for settings in [[:], ["NSAllowsArbitraryLoads": .boolean(false)]] as [[String: PropertyListValue]] {
            for url in [
                "http://a.example/", "ws://a.example/", "http://localhost/", "http://printer.local/",
                "http://192.0.2.1/", "http://[::1]:8080/",
            ] {
                #expect(try decide(settings, url) == .denied)
            }
            for url in ["https://a.example/", "wss://a.example/", "https://192.0.2.1/"] {
                #expect(try decide(settings, url) == .requirements(Self.standard))
            }
        }
        let info = AppTransportSecurity(info: ["NSAppTransportSecurity": .dictionary([:])])
        #expect(info.decide(try HTTPURL("http://a.example/")) == .denied)
    }

    // TLS-1
    @Test("NSAllowsArbitraryLoads lifts all requirements except those of exceptions")
    func arbitraryLoads() throws {
        var settings = domain("strict.example", [:])
        settings["NSAllowsArbitraryLoads"] = .boolean(true)
        #expect(try decide(settings, "http://a.example/") == .allowed)
        #expect(try decide(settings, "https://a.example/") == .allowed)
        #expect(try decide(settings, "http://strict.example/") == .denied)
        #expect(try decide(settings, "https://strict.example/") == .requirements(Self.standard))
        settings["NSAllowsArbitraryLoads"] = .integer(1)
        #expect(try decide(settings, "http://a.example/") == .allowed)
    }

    // TLS-1
    @Test(
        "A more specific key overrides NSAllowsArbitraryLoads, whatever its value",
        arguments: [
            "NSAllowsArbitraryLoadsForMedia", "NSAllowsArbitraryLoadsInWebContent", "NSAllowsLocalNetworking",
        ])
    func preciseKeys(key: String) throws {
        for value in [.boolean(true), .boolean(false), .other] as [PropertyListValue] {
            let settings = ["NSAllowsArbitraryLoads": .boolean(true), key: value]
            #expect(try decide(settings, "http://a.example/") == .denied)
            #expect(try decide(settings, "https://a.example/") == .requirements(Self.standard))
        }
    }

    // TLS-1
    @Test(
        "NSAllowsLocalNetworking applies to unqualified names, names in local, and IP addresses",
        arguments: [
            ("http://localhost:8080/", true), ("http://db/", true), ("http://printer.local/", true),
            ("http://a.b.local./", true), ("http://local/", true), ("http://192.0.2.1/", true),
            ("http://10.0.0.1:81/", true), ("http://[2001:db8::1]/", true), ("http://[fe80::1%25eth0]/", true),
            ("ws://localhost/", true), ("http://a.example/", false), ("http://notlocal.example/", false),
            ("http://xlocal.com/", false), ("http://local.example/", false), ("http://a.localhost/", false),
            ("http://1.2.3.4.example/", false), ("http://db./", false),
        ])
    func localNetworking(url: String, isLocal: Bool) throws {
        let settings = ["NSAllowsLocalNetworking": .boolean(true)] as [String: PropertyListValue]
        #expect(try decide(settings, url) == (isLocal ? .allowed : .denied))
        let secure = "https" + url.drop { $0 != ":" }
        #expect(try decide(settings, secure) == (isLocal ? .allowed : .requirements(Self.standard)))
        // With an exception, it is like any other domain.
        let host = try HTTPURL(url).host
        var named = domain(String(host.prefix { $0 != "%" }), [:])
        named["NSAllowsLocalNetworking"] = .boolean(true)
        #expect(try decide(named, url) == .denied)
        #expect(AppTransportSecurity(named).issues == [])
    }

    // TLS-1
    @Test("An exception may allow insecure loads, an older TLS, or suites without forward secrecy")
    func exceptions() throws {
        let insecure = domain("a.example", ["NSExceptionAllowsInsecureHTTPLoads": .boolean(true)])
        #expect(try decide(insecure, "http://a.example/") == .allowed)
        let untrusted = Requirements(needsTrust: false, minimumVersion: .tls12, needsForwardSecrecy: true)
        #expect(try decide(insecure, "https://a.example/") == .requirements(untrusted))
        #expect(try decide(insecure, "http://b.example/") == .denied)
        for (text, version) in [
            ("TLSv1.0", .tls10), ("TLSv1.1", .tls11), ("TLSv1.2", .tls12), ("TLSv1.3", .tls13),
        ] as [(String, Requirements.Version)] {
            let settings = domain("a.example", ["NSExceptionMinimumTLSVersion": .string(text)])
            let requirements = Requirements(needsTrust: true, minimumVersion: version, needsForwardSecrecy: true)
            #expect(try decide(settings, "https://a.example/") == .requirements(requirements))
            #expect(try decide(settings, "http://a.example/") == .denied)
        }
        let plain = domain("a.example", ["NSExceptionRequiresForwardSecrecy": .boolean(false)])
        #expect(
            try decide(plain, "https://a.example/")
                == .requirements(Requirements(needsTrust: true, minimumVersion: .tls12)))
        let logged = domain("a.example", ["NSRequiresCertificateTransparency": .boolean(true)])
        #expect(
            try decide(logged, "https://a.example/")
                == .requirements(
                    Requirements(
                        needsTrust: true, minimumVersion: .tls12, needsForwardSecrecy: true,
                        needsCertificateTransparency: true)))
    }

    // TLS-1
    @Test(
        "A key is a domain, an IP address or a network",
        arguments: [
            ("a.example", "http://a.example/", true), ("a.example", "http://A.EXAMPLE:81/", true),
            ("A.Example", "http://a.example/", true), ("a.example", "http://b.a.example/", false),
            ("a.example", "http://xa.example/", false), ("a.example", "http://a.example./", true),
            ("a.example.", "http://a.example./", true), ("a.example.", "http://a.example/", true),
            ("b\u{FC}cher.example", "http://xn--bcher-kva.example/", true), ("localhost", "http://localhost/", true),
            ("192.0.2.1", "http://192.0.2.1/", true), ("192.0.2.1", "http://192.0.2.2/", false),
            ("192.0.2.1", "http://a.example/", false), ("192.0.2.0/24", "http://192.0.2.255/", true),
            ("192.0.2.0/24", "http://192.0.3.0/", false), ("192.0.2.0/25", "http://192.0.2.128/", false),
            ("192.0.2.128/25", "http://192.0.2.129/", true), ("0.0.0.0/0", "http://9.9.9.9/", true),
            ("0.0.0.0/0", "http://[::1]/", false), ("2001:db8:12::/48", "http://[2001:db8:12:ffff::1]/", true),
            ("2001:db8:12::/48", "http://[2001:db8:13::1]/", false), ("2001:DB8::1", "http://[2001:db8:0::1]/", true),
            ("fe80::1", "http://[fe80::1%25eth0]/", true), ("::/1", "http://[7fff::]/", true),
            ("::/1", "http://[8000::]/", false), ("192.0.2.1/32", "http://192.0.2.1/", true),
        ])
    func domains(key: String, url: String, isMatch: Bool) throws {
        let settings = domain(key, ["NSExceptionAllowsInsecureHTTPLoads": .boolean(true)])
        #expect(try decide(settings, url) == (isMatch ? .allowed : .denied))
        #expect(AppTransportSecurity(settings).issues == [])
    }

    // TLS-1
    @Test("Only direct subdomains are included, unless they have their own exception")
    func subdomains() throws {
        let settings: [String: PropertyListValue] = [
            "NSExceptionDomains": .dictionary([
                "a.example": .dictionary([
                    "NSIncludesSubdomains": .boolean(true), "NSExceptionAllowsInsecureHTTPLoads": .boolean(true),
                ]),
                "own.a.example": .dictionary([:]),
                "192.0.2.0/24": .dictionary(["NSExceptionAllowsInsecureHTTPLoads": .boolean(true)]),
                "192.0.2.9": .dictionary([:]),
            ])
        ]
        #expect(try decide(settings, "http://a.example/") == .allowed)
        #expect(try decide(settings, "http://b.a.example/") == .allowed)
        #expect(try decide(settings, "http://c.b.a.example/") == .denied)
        #expect(try decide(settings, "http://own.a.example/") == .denied)
        #expect(try decide(settings, "http://x.own.a.example/") == .denied)
        #expect(try decide(settings, "http://192.0.2.8/") == .allowed)
        // The smallest network applies.
        #expect(try decide(settings, "http://192.0.2.9/") == .denied)
    }

    // TLS-1
    @Test("Invalid values are ignored and reported")
    func issues() throws {
        let security = AppTransportSecurity([
            "NSAllowsArbitraryLoads": .string("YES"), "NSAllowsLocalNetworking": .integer(2),
            "NSAllowsAll": .boolean(true),
            "NSAllowsArbitraryLoadsForMedia": .array([]),
            "NSPinnedDomains": .boolean(true),
            "NSExceptionDomains": .dictionary([
                "*.a.example": .dictionary([:]), "b.example:81": .dictionary([:]), "": .dictionary([:]),
                "c.example/x": .dictionary([:]), "1.2.3": .dictionary([:]), "1.2.3.4/33": .dictionary([:]),
                "1.2.3.4/": .dictionary([:]), "::1/+8": .dictionary([:]), "u@d.example": .dictionary([:]),
                "e.example": .other,
                "f.example": .dictionary([
                    "NSExceptionMinimumTLSVersion": .string("1.0"), "NSIncludesSubdomains": .string("YES"),
                    "NSExceptionRequiresForwardSecrecy": .other, "NSExceptionAllowsHTTP": .boolean(true),
                ]),
                "G.example": .dictionary([:]), "g.example": .dictionary([:]),
                "h.example": .dictionary(["NSExceptionMinimumTLSVersion": .integer(1)]),
            ]),
        ])
        #expect(
            security.issues.map(\.description) == [
                "NSAllowsArbitraryLoads is no boolean", "NSAllowsLocalNetworking is no boolean",
                "NSAllowsArbitraryLoadsForMedia is no boolean",
                "NSExceptionDomains ›  is no domain, address or range of addresses",
                "NSExceptionDomains › *.a.example is no domain, address or range of addresses",
                "NSExceptionDomains › 1.2.3 is no domain, address or range of addresses",
                "NSExceptionDomains › 1.2.3.4/ is no domain, address or range of addresses",
                "NSExceptionDomains › 1.2.3.4/33 is no domain, address or range of addresses",
                "NSExceptionDomains › ::1/+8 is no domain, address or range of addresses",
                "NSExceptionDomains › b.example:81 is no domain, address or range of addresses",
                "NSExceptionDomains › c.example/x is no domain, address or range of addresses",
                "NSExceptionDomains › e.example is no dictionary",
                "NSExceptionDomains › f.example › NSIncludesSubdomains is no boolean",
                "NSExceptionDomains › f.example › NSExceptionMinimumTLSVersion is no version of TLS",
                "NSExceptionDomains › f.example › NSExceptionRequiresForwardSecrecy is no boolean",
                "NSExceptionDomains › f.example › NSExceptionAllowsHTTP is not known",
                "NSExceptionDomains › g.example is there twice",
                "NSExceptionDomains › h.example › NSExceptionMinimumTLSVersion is no string",
                "NSExceptionDomains › u@d.example is no domain, address or range of addresses",
                "NSPinnedDomains is no dictionary", "NSAllowsAll is not known",
            ])
        for url in ["http://f.example/", "http://localhost/", "http://x.a.example/"] {
            #expect(security.decide(try HTTPURL(url)) == .denied)
        }
        // A pinned domain is invalid.
        var unknown = Self.standard
        unknown.pins = ServerPins(leaves: [])
        #expect(security.decide(try HTTPURL("https://a.example/")) == .requirements(unknown))
        unknown.minimumVersion = .tls13
        #expect(security.decide(try HTTPURL("https://f.example/")) == .requirements(unknown))
    }

    // TLS-1: a typing error must not weaken security
    @Test("Invalid values allow nothing") func doubts() throws {
        let everything = ["NSAllowsArbitraryLoads": PropertyListValue.boolean(true)]
        let noExceptions = everything.merging(["NSExceptionDomains": .array([])]) { $1 }
        #expect(try decide(noExceptions, "http://a.example/") == .denied)
        #expect(try decide(noExceptions, "https://a.example/") == .requirements(Self.standard))

        let narrow = everything.merging(domain("a.example", ["NSIncludesSubdomains": .string("YES")])) { $1 }
        #expect(try decide(narrow, "http://b.a.example/") == .denied)
        #expect(try decide(narrow, "http://c.example/") == .allowed)
        let loose = domain(
            "a.example", ["NSIncludesSubdomains": .other, "NSExceptionAllowsInsecureHTTPLoads": .boolean(true)])
        #expect(try decide(loose, "http://a.example/") == .allowed)
        #expect(try decide(loose, "http://b.a.example/") == .denied)

        for version in [PropertyListValue.string("1.3"), .integer(13)] {
            let newest = domain("a.example", ["NSExceptionMinimumTLSVersion": version])
            guard case .requirements(let requirements) = try decide(newest, "https://a.example/") else {
                Issue.record("nothing is demanded")
                continue
            }
            #expect(requirements.minimumVersion == .tls13)
        }
    }

    // TLS-1
    @Test(
        "Pins of an invalid domain apply to all domains",
        arguments: [
            .array([]), .boolean(true), .dictionary(["*.a.example": .dictionary([:])]),
            .dictionary(["https://a.example": .other]),
        ] as [PropertyListValue])
    func displacedPins(value: PropertyListValue) throws {
        for more in [[:], ["NSAllowsArbitraryLoads": .boolean(true)]] as [[String: PropertyListValue]] {
            let settings = more.merging(["NSPinnedDomains": value]) { $1 }
            guard case .requirements(let requirements) = try decide(settings, "https://b.example/") else {
                Issue.record("nothing is demanded")
                continue
            }
            #expect(requirements.pins == ServerPins(leaves: []))
        }
    }

    // TLS-1
    @Test("Pins with an invalid NSIncludesSubdomains apply to subdomains") func doubtfulPins() throws {
        let pins: [String: PropertyListValue] = [
            "NSIncludesSubdomains": .string("YES"),
            "NSPinnedLeafIdentities": .array([
                .dictionary(["SPKI-SHA256-BASE64": .string(String(repeating: "A", count: 43) + "=")])
            ]),
        ]
        let settings: [String: PropertyListValue] = ["NSPinnedDomains": .dictionary(["a.example": .dictionary(pins)])]
        var expected = Self.standard
        expected.pins = ServerPins(leaves: [[UInt8](repeating: 0, count: 32)])
        #expect(try decide(settings, "https://b.a.example/") == .requirements(expected))
        #expect(try decide(settings, "https://b.example/") == .requirements(Self.standard))
    }

    @Test("Settings that are not a dictionary allow nothing")
    func noDictionary() throws {
        let security = AppTransportSecurity(info: ["NSAppTransportSecurity": .boolean(false)])
        #expect(security.decide(try HTTPURL("http://a.example/")) == .denied)
        #expect(security.issues.map(\.description) == ["NSAppTransportSecurity is no dictionary"])
        let nested = AppTransportSecurity(info: ["NSAppTransportSecurity": .dictionary(["x": .other])])
        #expect(nested.issues.map(\.description) == ["NSAppTransportSecurity › x is not known"])
    }
}
