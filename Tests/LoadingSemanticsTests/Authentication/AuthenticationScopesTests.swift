import LoadingSemantics
import Testing

@Suite struct AuthenticationScopesTests {
    private func url(_ text: String) throws -> HTTPURL { try HTTPURL(text) }

    private func covered(_ scope: AuthenticationScope, _ paths: [String]) throws -> [String] {
        try paths.filter { scope.depth(of: try url("http://example.com" + $0)) != nil }
    }

    // AUTH-26, RFC 7617 §2.2
    @Test func basicCoversTheDirectory() throws {
        let paths = [
            "/docs/", "/docs/test.doc", "/docs/?page=1", "/docs/sub/x", "/docs", "/", "/other/", "/docs2/", "/?/docs/",
            "/docs/../secret", "/docs/%2e%2E/secret", "/docs/./x", "/docs/.hidden", "/docs/...", "/docs/a..b",
        ]
        #expect(
            try covered(.basic(acceptedAt: url("http://example.com/docs/index.html?a=/b/")), paths) == [
                "/docs/", "/docs/test.doc", "/docs/?page=1", "/docs/sub/x", "/docs/.hidden", "/docs/...", "/docs/a..b",
            ])
        #expect(
            try covered(.basic(acceptedAt: url("http://example.com")), ["/", "/x", "/x/y?z"]) == ["/", "/x", "/x/y?z"])
    }

    // AUTH-18, RFC 7616 §3.3
    @Test(arguments: [
        (nil, ["/", "/a", "/a/b", "/ab", "/b/c"]), ("", ["/", "/a", "/a/b", "/ab", "/b/c"]),
        (" ", ["/", "/a", "/a/b", "/ab", "/b/c"]), ("/a", ["/a", "/a/b", "/ab"]), ("/a/ /b", ["/a/b", "/b/c"]),
        ("http://example.com/b", ["/b/c"]), ("http://EXAMPLE.com:80", ["/", "/a", "/a/b", "/ab", "/b/c"]),
        // URIs of other origins are ignored.
        ("http://other.example/ https://example.com/ //other.example/ relative", []),
    ])
    func digestCoversItsDomain(domain: String?, expected: [String]) throws {
        let scope = AuthenticationScope.digest(domain: domain, acceptedAt: try url("http://example.com/x/y"))
        #expect(try covered(scope, ["/", "/a", "/a/b", "/ab", "/b/c"]) == expected)
    }

    // AUTH-18
    @Test func digestConsidersThirtyTwoURIs() throws {
        let domain = (1...33).map { "/\($0)/" }.joined(separator: " ")
        let scope = AuthenticationScope.digest(domain: domain, acceptedAt: try url("http://example.com/"))
        #expect(try covered(scope, ["/1/", "/31/", "/32/", "/33/"]) == ["/1/", "/31/", "/32/"])
    }

    // AUTH-26: of several prefixes of one scope the longest that matches counts.
    @Test func closestPrefixOfAScopeCounts() throws {
        let host = try url("http://example.com/")
        let scope = AuthenticationScope.digest(domain: "/ /a/b /a", acceptedAt: host)
        #expect(try ["/", "/a", "/a/b/c"].map { scope.depth(of: try url("http://example.com" + $0)) } == [1, 2, 4])
    }

    private func space(_ realm: String, _ scheme: AuthenticationScheme = .basic, at text: String) throws
        -> ProtectionSpace
    {
        ProtectionSpace(
            of: AuthenticationOption(
                scheme: scheme,
                challenge: AuthenticationChallenge(scheme: scheme.name, parameters: [.init("realm", realm)])),
            at: AuthenticationPeer(serverOf: try url(text)))
    }

    // AUTH-26
    @Test func closestSpaceIsChosen() throws {
        let host = "http://example.com"
        var scopes = AuthenticationScopes()
        #expect(scopes.space(of: try url(host)) == nil)
        let outer = try space("outer", at: host)
        let inner = try space("inner", at: host)
        let digest = try space("digest", .digest, at: host)
        scopes.add(.basic(acceptedAt: try url(host + "/")), of: outer, at: try url(host))
        scopes.add(.basic(acceptedAt: try url(host + "/in/x")), of: inner, at: try url(host))
        scopes.add(.digest(domain: "/d", acceptedAt: try url(host)), of: digest, at: try url(host))
        #expect(scopes.space(of: try url(host + "/a")) == outer)
        #expect(scopes.space(of: try url(host + "/in/a")) == inner)
        #expect(scopes.space(of: try url(host + "/d")) == digest)
        #expect(scopes.space(of: try url("https://example.com/a")) == nil)
        #expect(scopes.space(of: try url("http://example.com:81/a")) == nil)
        #expect(scopes.space(of: try url("http://www.example.com/a")) == nil)

        scopes.remove(inner)
        #expect(scopes.space(of: try url(host + "/in/a")) == outer)
        scopes.remove(outer)
        scopes.remove(digest)
        #expect(scopes.space(of: try url(host + "/in/a")) == nil)
    }

    @Test func numberOfSpacesIsLimited() throws {
        var scopes = AuthenticationScopes()
        let host = "http://example.com/"
        for number in 0...AuthenticationScopes.maximumCount {
            let path = try url(host + "\(number)/")
            scopes.add(.basic(acceptedAt: path), of: try space("\(number)", at: host), at: path)
        }
        #expect(scopes.space(of: try url(host + "0/")) == nil)
        #expect(scopes.space(of: try url(host + "1/"))?.realm == "1")
        #expect(scopes.space(of: try url(host + "256/"))?.realm == "256")
        for number in 0..<1000 {
            let other = try url("http://host\(number)/")
            scopes.add(.basic(acceptedAt: other), of: try space("r", at: "http://host\(number)/"), at: other)
        }
        #expect(scopes.space(of: try url("http://host999/"))?.realm == "r")
    }

    // AUTH-26
    @Test func theLatestOfSpacesWithOneScope() throws {
        let host = try url("http://example.com/")
        var scopes = AuthenticationScopes()
        for realm in ["a", "b"] {
            scopes.add(.basic(acceptedAt: host), of: try space(realm, at: "http://example.com/"), at: host)
        }
        #expect(scopes.space(of: host)?.realm == "b")
        scopes.remove(try space("b", at: "http://example.com/"))
        #expect(scopes.space(of: host)?.realm == "a")
    }

    @Test func whatIsRemovedMakesRoom() throws {
        var scopes = AuthenticationScopes()
        let host = "http://example.com/"
        func add(_ number: Int) throws {
            let path = try url(host + "\(number)/")
            scopes.add(.basic(acceptedAt: path), of: try space("\(number)", at: host), at: path)
        }
        for number in 0..<256 { try add(number) }
        scopes.remove(try space("100", at: host))
        try add(256)
        #expect(scopes.space(of: try url(host + "0/"))?.realm == "0")
        try add(257)
        #expect(scopes.space(of: try url(host + "0/")) == nil)
        #expect(scopes.space(of: try url(host + "1/"))?.realm == "1")
    }
}
