import LoadingSemantics
import Testing

/// Which cookies requests carry (RFC 6265bis §5.8).
@Suite struct CookieRetrievalTests {
    var world = CookieFixture()

    // COOK-4, COOK-5, COOK-16
    @Test(
        "Domain, path and Secure select cookies",
        arguments: [
            ("https://example.com/", "host=1; wide=1; secure=1"), ("http://example.com/", "host=1; wide=1"),
            ("http://example.com", "host=1; wide=1"), ("http://EXAMPLE.com:8080/?/a/b", "host=1; wide=1"),
            ("http://www.example.com/", "wide=1"), ("ws://www.example.com/", "wide=1"),
            ("wss://example.com/", "host=1; wide=1; secure=1"),
            ("http://example.com/a/b", "deep=1; host=1; wide=1"),
            ("http://example.com/a/b/c?d", "deep=1; host=1; wide=1"),
            ("http://example.com/a/bc", "host=1; wide=1"), ("http://example.com/A/b", "host=1; wide=1"),
            ("http://notexample.com/", nil), ("http://com/", nil), ("http://example.org/", nil),
            ("http://1.2.3.4/", nil),
        ] as [(String, String?)])
    mutating func matching(address: String, expected: String?) throws {
        let origin = "https://example.com/"
        for field in ["host=1", "wide=1; Domain=example.com", "secure=1; Secure", "deep=1; Path=/a/b"] {
            #expect(try world.set(field, origin) == nil)
        }
        #expect(try world.field(address) == expected)
    }

    // COOK-9, COOK-16: §5.8.3 steps 2 and 4
    @Test("Longer paths come first, then older cookies, whose values may be empty")
    mutating func order() throws {
        for field in ["a=1; Path=/", "b=2; Path=/x/y", "c=; Path=/x", "d=4; Path=/x/y", "e=; Path=/x", "f=6; Path=/x/"]
        {
            #expect(try world.set(field, "http://example.com/") == nil)
        }
        #expect(try world.field("http://example.com/x/y/z") == "b=2; d=4; f=6; c=; e=; a=1")
        #expect(Cookie.field([]) == nil)
    }

    // COOK-7: §5.8.3 step 1
    @Test(
        "Cross-site requests carry cookies by SameSite",
        arguments: [
            (nil, false, "GET", "unspecified=1; none=1; lax=1; strict=1"),
            ("https://www.site.example/", false, "POST", "unspecified=1; none=1; lax=1; strict=1"),
            ("https://other.example/", false, "GET", "unspecified=1; none=1"),
            ("http://site.example/", false, "GET", "unspecified=1; none=1"),
            ("https://other.example/", true, "GET", "unspecified=1; none=1; lax=1"),
            ("https://other.example/", true, "HEAD", "unspecified=1; none=1; lax=1"),
            ("https://other.example/", true, "POST", "unspecified=1; none=1"),
        ] as [(String?, Bool, String, String)])
    mutating func sameSite(document: String?, isNavigation: Bool, method: String, expected: String) throws {
        for name in ["unspecified", "none", "lax", "strict"] {
            #expect(try world.set("\(name)=1; Secure; SameSite=\(name)", "https://site.example/") == nil)
        }
        let field = try world.field(
            "https://site.example/", document: document, isNavigation: isNavigation, method: method)
        #expect(field == expected)
    }

    // COOK-6
    @Test("Cookies with ports are sent to these only")
    mutating func ports() throws {
        var cookie = Cookie(name: "a", value: "b", domain: "example.com", created: 0)
        cookie.ports = [80, 8080]
        _ = world.jar.insert(cookie, at: world.now)
        #expect(try world.field("http://example.com/") == "a=b")
        #expect(try world.field("http://example.com:8080/") == "a=b")
        #expect(try world.field("https://example.com/") == nil)
    }

    // MISC-28, COOK-4, COOK-6, COOK-7
    @Test(
        "Each cookie of the site that a request does not carry has a reason",
        arguments: [
            ("https://example.com/a", nil, ["other path", "www domain", "ported port"]),
            ("http://example.com/a", nil, ["secure insecureURL", "other path", "www domain", "ported port"]),
            ("https://www.example.com:8080/b/", nil, ["host domain", "secure domain"]),
            ("https://www.example.com/", nil, ["host domain", "secure domain", "other path", "ported port"]),
            (
                "https://example.com/b", "https://a.example/",
                ["www domain", "lax crossSite", "ported port"]
            ),
            ("https://elsewhere.example/", nil, []),
        ] as [(String, String?, [String])])
    mutating func exclusions(address: String, document: String?, expected: [String]) throws {
        let origin = "https://example.com/"
        for field in ["host=1", "secure=1; Secure", "other=1; Domain=example.com; Path=/b"] {
            #expect(try world.set(field, origin) == nil)
        }
        #expect(try world.set("www=1", "https://www.example.com/") == nil)
        #expect(try world.set("lax=1; Domain=example.com; SameSite=Lax", origin) == nil)
        var ported = Cookie(name: "ported", value: "1", domain: "example.com", isHostOnly: false, created: world.now)
        ported.ports = [8080]
        _ = world.jar.insert(ported, at: world.now)
        #expect(try world.exclusions(address, document: document) == expected)
    }

    // MISC-28
    @Test("A cookie that has expired is excluded for that")
    mutating func expiredIsExcluded() throws {
        #expect(try world.set("a=1; Max-Age=10", "http://example.com/") == nil)
        #expect(try world.exclusions("http://example.com/") == [])
        world.now += 10
        #expect(try world.exclusions("http://example.com/") == ["a expired"])
    }

    // §5.8.3: a domain that has become a public suffix
    @Test("A domain cookie of a public suffix is not sent, a host-only one is")
    mutating func suffixes() throws {
        _ = world.jar.insert(
            Cookie(name: "wide", value: "1", domain: "co.uk", isHostOnly: false, created: 0), at: world.now)
        _ = world.jar.insert(Cookie(name: "host", value: "1", domain: "co.uk", created: 0), at: world.now)
        #expect(try world.field("http://co.uk/") == "host=1")
        #expect(try world.field("http://a.co.uk/") == nil)
    }

    // COOK-4, COOK-27: no server can set one, so it is the program's
    @Test("A domain cookie of a name of one label is sent to that host only")
    mutating func namesOfOneLabel() throws {
        _ = world.jar.insert(
            Cookie(name: "wide", value: "1", domain: "localhost", isHostOnly: false, created: 0), at: world.now)
        #expect(try world.field("http://localhost:8080/") == "wide=1")
        #expect(try world.field("http://a.localhost/") == nil)
        #expect(try world.exclusions("http://localhost/") == [])
    }

    // COOK-5
    @Test("HttpOnly cookies are sent")
    mutating func httpOnly() throws {
        #expect(try world.set("a=b; HttpOnly", "http://example.com/") == nil)
        #expect(try world.field("http://example.com/") == "a=b")
        #expect(world.jar.all(at: world.now).map(\.isHTTPOnly) == [true])
    }
}
