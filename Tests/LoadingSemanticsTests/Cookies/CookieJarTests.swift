import LoadingSemantics
import Testing

/// Which cookies of responses are accepted (RFC 6265bis §5.7).
@Suite struct CookieJarTests {
    var world = CookieFixture()

    // COOK-4, COOK-20, COOK-27: steps 7 to 10
    @Test(
        "A server may set cookies for its own host and parent domains only",
        arguments: [
            ("http://www.example.com", "", nil), ("http://www.example.com", "Domain=example.com", nil),
            ("http://www.example.com", "Domain=.EXAMPLE.com", nil),
            ("http://www.example.com", "Domain=www.example.com", nil),
            ("http://www.example.com", "Domain=", nil),
            ("http://www.example.com", "Domain=a.www.example.com", .domainMismatch),
            ("http://www.example.com", "Domain=b.example.com", .domainMismatch),
            ("http://www.example.com", "Domain=example.org", .domainMismatch),
            ("http://www.example.com", "Domain=ample.com", .domainMismatch),
            ("http://www.example.com", "Domain=..example.com", .domainMismatch),
            ("http://www.example.com", "Domain=example.com.", .domainMismatch),
            ("http://www.example.com", "Domain=example.com:80", .domainMismatch),
            ("http://www.bücher.example", "Domain=bücher.example", .domainMismatch),
            ("http://www.bücher.example", "Domain=xn--bcher-kva.example", nil),
            ("http://www.example.com", "Domain=com", .publicSuffix), ("http://a.co.uk", "Domain=co.uk", .publicSuffix),
            ("http://a.b.co.uk", "Domain=uk", .publicSuffix), ("http://evil.com.", "Domain=com.", .publicSuffix),
            ("http://github.io", "Domain=github.io", nil), ("http://me.github.io", "Domain=github.io", .publicSuffix),
            ("http://localhost", "Domain=localhost", nil), ("http://localhost", "", nil),
            ("http://1.2.3.4", "Domain=1.2.3.4", nil), ("http://1.2.3.4", "Domain=2.3.4", .domainMismatch),
            ("http://[::1]", "", nil), ("http://[::1]", "Domain=::1", nil),
        ] as [(String, String, CookieRefusal?)])
    mutating func domains(address: String, attribute: String, expected: CookieRefusal?) throws {
        #expect(try world.set("a=b; \(attribute)", address) == expected)
        #expect(world.jar.count == (expected == nil ? 1 : 0))
    }

    // COOK-27: what an address, a public suffix or a name of one label sets is for it alone.
    @Test(
        "Addresses and public suffixes set host-only cookies",
        arguments: [
            ("http://example.com", "Domain=example.com", false), ("http://example.com", "", true),
            ("http://github.io", "Domain=github.io", true), ("http://localhost", "Domain=localhost", true),
            ("http://1.2.3.4", "Domain=1.2.3.4", true), ("http://[::1]", "Domain=::1", true),
        ])
    mutating func hostOnly(address: String, attribute: String, expected: Bool) throws {
        _ = try world.set("a=b; \(attribute)", address)
        #expect(world.jar.all(at: world.now).map(\.isHostOnly) == [expected])
    }

    // COOK-20, COOK-27: step 13
    @Test("Secure cookies come over secure connections")
    mutating func secure() throws {
        #expect(try world.set("a=b; Secure", "http://example.com") == .insecureOrigin)
        #expect(try world.set("a=b; Secure", "ws://example.com") == .insecureOrigin)
        #expect(try world.set("a=b; Secure", "http://localhost") == .insecureOrigin)
        #expect(try world.set("a=b; Secure", "https://example.com") == nil)
        #expect(try world.set("c=d; Secure", "wss://example.com") == nil)
    }

    // COOK-20: step 16
    @Test(
        "Insecure responses do not overwrite secure cookies",
        arguments: [
            (
                "https://www.example.com/login", "Path=/login", "http://www.example.com/", "Path=/login",
                .hidesSecureCookie
            ),
            (
                "https://www.example.com/login", "Path=/login", "http://www.example.com/", "Path=/login/en",
                .hidesSecureCookie
            ),
            ("https://www.example.com/login", "Path=/login", "http://www.example.com/", "Path=/", nil),
            ("https://www.example.com/login", "Path=/login", "http://www.example.com/", "Path=/foo", nil),
            ("https://example.com/", "Domain=example.com", "http://www.example.com/", "", .hidesSecureCookie),
            ("https://www.example.com/", "", "http://www.example.com/", "Domain=example.com", .hidesSecureCookie),
            ("https://www.example.com/", "", "http://other.example.com/", "", nil),
            ("https://www.example.com/", "", "http://www.example.com/", "Max-Age=0", .hidesSecureCookie),
            ("https://www.example.com/", "", "https://www.example.com/", "", nil),
            ("https://www.example.com/", "Max-Age=10", "http://www.example.com/", "", nil),
        ] as [(String, String, String, String, CookieRefusal?)])
    mutating func leaveSecureCookiesAlone(
        first: String, attribute: String, second: String, otherAttribute: String, expected: CookieRefusal?
    ) throws {
        #expect(try world.set("a=secret; Secure; \(attribute)", first) == nil)
        world.now += 20
        #expect(try world.set("other=1; \(otherAttribute)", second) == nil)
        #expect(try world.set("a=planted; \(otherAttribute)", second) == expected)
    }

    // COOK-20: steps 20 to 22
    @Test(
        "A cookie must satisfy its name prefix",
        arguments: [
            ("__Secure-SID=12345; Domain=site.example", .prefixViolation),
            ("__Secure-SID=12345; Domain=site.example; Secure", nil),
            ("__secure-a=1", .prefixViolation), ("__SECURE-a=1; Secure", nil), ("__Secure-=1", .prefixViolation),
            ("__Host-SID=12345", .prefixViolation), ("__Host-SID=12345; Secure", .prefixViolation),
            ("__Host-SID=12345; Domain=site.example", .prefixViolation),
            ("__Host-SID=12345; Domain=site.example; Path=/", .prefixViolation),
            ("__Host-SID=12345; Secure; Domain=site.example; Path=/", .prefixViolation),
            ("__Host-SID=12345; Secure; Path=/", nil), ("__host-SID=12345; Secure; Path=/", nil),
            ("__hOST-SID=12345; Secure; Path=/a", .prefixViolation), ("__Host-SID=1; Secure; Path=/; Domain=", nil),
            // A default path "/" does not count.
            ("__HOST-SID=1; Secure", .prefixViolation),
            ("__Http-a=1; Secure", .prefixViolation), ("__Http-a=1; HttpOnly", .prefixViolation),
            ("__Http-a=1; Secure; HttpOnly", nil),
            ("__Host-Http-a=1; Secure; Path=/", .prefixViolation), ("__Host-Http-a=1; Secure; Path=/; HttpOnly", nil),
            ("__Host-Http-a=1; Secure; HttpOnly", .prefixViolation),
            // Without a name, the value would be sent like a name.
            ("=__Host-a=1", .missingName), ("__Secure-a", .missingName), ("=__secure-a; Secure", .missingName),
            ("=__Http-a; Secure; HttpOnly", .missingName), ("__Secure=1", nil), ("x__Secure-=1", nil), ("_=1", nil),
            ("a=__Host-b", nil),
        ] as [(String, CookieRefusal?)])
    mutating func prefixes(field: String, expected: CookieRefusal?) throws {
        #expect(try world.set(field, "https://site.example/") == expected)
    }

    // COOK-7: steps 17 to 19
    @Test(
        "Cross-site responses do not set same-site cookies",
        arguments: [
            ("a=b; SameSite=Strict", nil, false, nil),
            ("a=b; SameSite=Strict", "https://www.site.example/", false, nil),
            ("a=b; SameSite=Strict", "https://other.example/", false, .crossSite),
            ("a=b; SameSite=Lax", "https://other.example/", false, .crossSite),
            ("a=b; SameSite=Lax", "http://site.example/", false, .crossSite),
            ("a=b; SameSite=Strict", "https://other.example/", true, nil),
            ("a=b; SameSite=None; Secure", "https://other.example/", false, nil),
            ("a=b", "https://other.example/", false, nil),
            ("a=b; SameSite=None", nil, false, .sameSiteNoneWithoutSecure),
            ("a=b; SameSite=None; Secure", nil, false, nil),
            ("a=b; SameSite=Unknown", "https://other.example/", false, nil),
        ] as [(String, String?, Bool, CookieRefusal?)])
    mutating func sameSite(field: String, document: String?, isNavigation: Bool, expected: CookieRefusal?) throws {
        let refusal = try world.set(field, "https://site.example/", document: document, isNavigation: isNavigation)
        #expect(refusal == expected)
    }

    // COOK-13, COOK-14
    @Test("The accept policy applies first")
    mutating func policies() throws {
        #expect(try world.set("a=b", "http://example.com", policy: .never) == .policy)
        let document = "http://other.example"
        let policy = CookieAcceptPolicy.onlyFromMainDocumentDomain
        #expect(try world.set("a=b", "http://example.com", document: document, policy: policy) == .policy)
        #expect(try world.set("a=b", "http://example.com", document: document, policy: .always) == nil)
        #expect(try world.set("c=d", "http://example.com", policy: policy) == nil)
    }

    // COOK-24
    @Test("Partitions are separate jars")
    mutating func partitions() throws {
        #expect(try world.set("a=common", "https://example.com") == nil)
        #expect(try world.set("a=own; Secure; Partitioned", "https://example.com", partition: "p") == nil)
        #expect(try world.field("https://example.com", partition: "p") == "a=own")
        #expect(try world.field("https://example.com", partition: "q") == nil)
        #expect(try world.field("https://example.com") == "a=common")
        #expect(try world.set("b=c; Secure; Partitioned", "https://example.com") == .missingPartition)
        #expect(try world.set("b=c; Partitioned", "https://example.com", partition: "p") == .missingPartition)
    }

    // COOK-20: §5.7 step 6, §5.5
    @Test(
        "Max-Age takes precedence over Expires, and the lifetime is at most 400 days",
        arguments: [
            ("", nil), ("Max-Age=100", 100), ("Max-Age=100; Expires=Thu, 01 Jan 1970 00:00:00 GMT", 100),
            ("Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=100", 100),
            ("Expires=Tue, 13 Jan 1970 00:00:00 GMT", 36800),
            ("Max-Age=x; Expires=Tue, 13 Jan 1970 00:00:00 GMT", 36800), ("Expires=x", nil),
            ("Max-Age=34560000", 34_560_000), ("Max-Age=34560001", 34_560_000),
            ("Max-Age=99999999999999999999", 34_560_000),
            ("Expires=Fri, 31 Dec 9999 23:59:59 GMT", 34_560_000), ("Max-Age=1; Max-Age=2", 2),
        ] as [(String, Double?)])
    mutating func lifetime(attributes: String, seconds: Double?) throws {
        #expect(try world.set("a=b; \(attributes)", "http://example.com") == nil)
        #expect(world.jar.all(at: world.now).map { $0.expires.map { $0 - world.now } } == [seconds])
    }

    // COOK-16: §5.7, "expired"
    @Test("A cookie expires")
    mutating func end() throws {
        #expect(try world.set("a=b; Max-Age=10", "http://example.com") == nil)
        #expect(try world.set("c=d", "http://example.com") == nil)
        world.now += 9.5
        #expect(try world.field("http://example.com") == "a=b; c=d")
        world.now += 0.5
        #expect(try world.field("http://example.com") == "c=d")
        #expect(world.jar.all(at: world.now).map(\.name) == ["c"])
        #expect(world.jar.removeExpired(at: world.now).map(\.name) == ["a"])
        #expect(world.jar.count == 1)
        #expect(world.jar.removeAll { $0.expires == nil }.map(\.name) == ["c"])
        #expect(world.jar.isEmpty)
    }

    // COOK-15: step 23
    @Test("A cookie replaces its predecessor and keeps its creation time")
    mutating func replacement() throws {
        for name in ["a", "b", "c"] {
            #expect(try world.set("\(name)=1", "http://example.com") == nil)
            world.now += 1
        }
        #expect(try world.set("a=2", "http://example.com") == nil)
        #expect(try world.field("http://example.com") == "a=2; b=1; c=1")
        #expect(world.jar.all(at: world.now).map(\.created) == [1_000_000, 1_000_001, 1_000_002])
        // host-only-flag, path, domain and the octets of the name are part of the identity.
        #expect(try world.set("a=3; Domain=example.com", "http://example.com") == nil)
        #expect(try world.set("a=4; Path=/x", "http://example.com") == nil)
        #expect(try world.set("A=5", "http://example.com") == nil)
        #expect(try world.set("\u{E9}=6", "http://example.com") == nil)
        #expect(try world.set("e\u{301}=7", "http://example.com") == nil)
        #expect(
            try world.field("http://example.com/x")?.utf8.elementsEqual(
                "a=4; a=2; b=1; c=1; a=3; A=5; \u{E9}=6; e\u{301}=7".utf8) == true)
    }

    // COOK-15, COOK-16
    @Test("An expired cookie removes its predecessor")
    mutating func deletion() throws {
        let url = try HTTPURL("http://example.com/")
        let request = CookieRequest(url)
        guard case .stored(let cookie, evicted: []) = world.jar.receive("a=b", from: request, at: world.now) else {
            Issue.record("not stored")
            return
        }
        let gone = world.jar.receive("a=; Expires=Thu, 01 Jan 1970 00:00:00 GMT", from: request, at: world.now)
        #expect(gone == .removed(cookie.identity))
        // A copy on disk may still have it.
        #expect(world.jar.receive("a=; Max-Age=0", from: request, at: world.now) == .nothing(cookie.identity))
        #expect(world.jar.isEmpty)
    }

    @Test("A cookie does not inherit the creation time of an expired one")
    mutating func succession() throws {
        #expect(try world.set("a=1; Max-Age=1", "http://example.com") == nil)
        #expect(try world.set("b=1", "http://example.com") == nil)
        world.now += 5
        #expect(try world.set("a=2", "http://example.com") == nil)
        #expect(try world.field("http://example.com") == "b=1; a=2")
        #expect(world.jar.count == 2)
    }

    // COOK-5, COOK-19: what the program itself does
    @Test("Cookies of the application are not restricted, except that they can be sent")
    mutating func ownCookies() throws {
        var cookie = Cookie(name: "a", value: "b", domain: "com", isHostOnly: false, created: 5)
        cookie.expires = world.now * 100
        #expect(world.jar.insert(cookie, at: world.now) == .stored(cookie, evicted: []))
        #expect(try world.field("http://example.com") == nil)
        for (name, value) in [("", ""), ("a", "b;c"), ("a;", "b"), ("a", "b\r\nc"), ("\0", "b")] {
            let bad = Cookie(name: name, value: value, domain: "example.com", created: 0)
            guard case .refused = world.jar.insert(bad, at: world.now) else {
                Issue.record("took \(name)=\(value)")
                continue
            }
        }
        #expect(world.jar.remove(cookie.identity))
        #expect(!world.jar.remove(cookie.identity))
        #expect(world.jar.isEmpty)
        #expect(try world.set("a=b", "http://example.com") == nil)
        world.now += 1
        #expect(try world.set("c=d", "http://example.com") == nil)
        let since = world.now
        #expect(world.jar.removeAll { $0.created >= since }.map(\.name) == ["c"])
        #expect(world.jar.count == 1)
    }

    // A path or host longer than any attribute may be would let a server fill the memory.
    @Test("Domain and path have a maximum length")
    mutating func longPlaces() throws {
        let long = String(repeating: "p", count: 1100)
        #expect(try world.set("a=b", "http://example.com/\(long)/x") == .tooLong)
        #expect(try world.set("a=b; Path=/", "http://example.com/\(long)/x") == nil)
        #expect(try world.set("a=b", "http://\(long).example.com/") == .tooLong)
    }

    // COOK-15, COOK-20: these names are alike to FNV-1a
    @Test("Cookies with colliding fingerprints are distinct")
    mutating func collidingNames() throws {
        let names = ["8yn0iYCKYHlIj4-BwPqk", "GReLUrM4wMqfg9yzV3KQ"]
        let identities = names.map { CookieIdentity(domain: "example.org", isHostOnly: true, path: "/", name: $0) }
        // Hash tables of them are seeded.
        #expect(identities[0].hashValue != identities[1].hashValue)
        #expect(Set(identities).count == 2)
        var jar = CookieJar()
        for name in names {
            var cookie = Cookie(name: name, value: name, domain: "example.org", created: 1)
            cookie.expires = 1000
            _ = jar.insert(cookie, at: 1)
        }
        #expect(jar.all(at: 1).map(\.value) == names)
        let isRemoved = jar.remove(identities[0])
        #expect(isRemoved)
        #expect(jar.all(at: 1).map(\.value) == [names[1]])
    }
}
