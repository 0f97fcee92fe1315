import LoadingSemantics
import Synchronization
import Testing

/// Domain matching, path matching and sites.
@Suite struct CookieScopeTests {
    // COOK-4, COOK-27: RFC 6265bis §5.1.3
    @Test(
        "A domain matches itself and its subdomains",
        arguments: [
            ("example.com", "example.com", true), ("www.example.com", "example.com", true),
            ("a.b.example.com", "example.com", true), ("notexample.com", "example.com", false),
            ("example.com", "www.example.com", false), ("example.com", "com", true), ("example.com", "", false),
            ("1.2.3.4", "1.2.3.4", true), ("1.2.3.4", "3.4", false), ("1.2.3.4", "4", false),
            ("a.1.2.3.4", "2.3.4", false),
            ("::1", "::1", true), ("::ffff:1.2.3.4", "4", false), ("4.example", "example", true),
            ("localhost", "localhost", true), ("a.localhost", "localhost", true), ("", "", true),
            (".example.com", "example.com", true), ("example.com", ".com", false),
            ("example.com.", "example.com", false),
            ("www.example.com.", "example.com.", true),
        ])
    func domains(host: String, domain: String, expected: Bool) {
        #expect(CookieDomain.matches(host: host, domain: domain) == expected)
    }

    // COOK-27
    @Test(
        "IP addresses are distinguished from names",
        arguments: [
            ("1.2.3.4", true), ("127.1", true), ("2130706433", true), ("::1", true), ("fe80::1%eth0", true),
            ("1.2.3.4.", true), ("example.com", false), ("1.2.3.example", false), ("localhost", false), ("", false),
            (".", false), ("4e.", false), ("1.2.3.0x4", true), ("0x7f.0.0.0x1", true), ("0X7F000001", true),
            ("0x7f.0.0.0x.", true), ("a.0xfg", false), ("a.x1", false), ("a.0", true), ("a.0y1", false),
        ])
    func addresses(host: String, expected: Bool) {
        #expect(CookieDomain.isAddress(host) == expected)
    }

    // COOK-12: RFC 6265bis §5.1.4
    @Test(
        "The default path is the directory of the request",
        arguments: [
            ("/", "/"), ("/a", "/"), ("/a/", "/a"), ("/a/b", "/a"), ("/a/b/c.html", "/a/b"), ("//", "/"), ("", "/"),
            ("a/b", "/"), ("/a//b", "/a/"), ("/%2F/b", "/%2F"),
        ])
    func defaultPaths(path: String, expected: String) {
        #expect(CookiePath.default(of: path) == expected)
    }

    // COOK-4: RFC 6265bis §5.1.4
    @Test(
        "A path matches itself and its subdirectories",
        arguments: [
            ("/", "/", true), ("/a", "/", true), ("/a", "/a", true), ("/a/", "/a", true), ("/a/b", "/a", true),
            ("/ab", "/a", false), ("/a", "/a/", false), ("/a/b", "/a/", true), ("/A", "/a", false), ("/", "/a", false),
            ("/%61", "/a", false), ("/a//b", "/a/", true), ("/a", "", true), ("", "/", false),
            ("/a/b/", "/a/b/", true),
        ])
    func paths(path: String, cookiePath: String, expected: Bool) {
        #expect(CookiePath.matches(path, cookiePath) == expected)
    }

    // COOK-20: RFC 6265bis §5.2
    @Test(
        "A site is one label more than the longest public suffix",
        arguments: [
            ("example.com", "example.com", false), ("www.example.com", "example.com", false), ("com", "com", true),
            ("a.b.co.uk", "b.co.uk", false), ("co.uk", "co.uk", true), ("uk", "uk", true),
            ("me.github.io", "me.github.io", false), ("x.me.github.io", "me.github.io", false),
            ("github.io", "github.io", true),
            // The shorter suffix is not listed, but the longer one decides.
            ("a.b.eu.compute.cloud.example", "b.eu.compute.cloud.example", false),
            ("compute.cloud.example", "cloud.example", false), ("localhost", "localhost", true),
            ("1.2.3.4", "1.2.3.4", false), ("::1", "::1", false), ("www.example.com.", "example.com.", false),
            ("co.uk.", "co.uk.", true), ("", "", true), (".", ".", true), ("..", "..", false),
            ("a..com", ".com", false),
        ])
    func sites(host: String, name: String, isSuffix: Bool) {
        let suffixes = PublicSuffixes { ["co.uk", "github.io", "eu.compute.cloud.example"].contains($0) }
        #expect(suffixes.site(of: host).name == name)
        #expect(suffixes.site(of: host).isSuffix == isSuffix)
    }

    // COOK-20: the host of a redirect may be as long as a head, and the list would be asked about each of its labels
    @Test("A host that is too long for DNS is its own site") func longHosts() {
        let asked = Mutex(0)
        let suffixes = PublicSuffixes { _ in
            asked.withLock { $0 += 1 }
            return false
        }
        let host = String(repeating: "a.", count: 100_000) + "com"
        let site = suffixes.site(of: host)
        #expect(site.name == host && !site.isSuffix)
        #expect(asked.withLock { $0 } == 0)
    }

    // COOK-7: RFC 6265bis §5.2
    @Test(
        "The main document determines whether a request is same-site",
        arguments: [
            ("https://a.example.com/", "https://b.example.com/", true),
            ("https://example.com:444/", "https://example.com/", true),
            ("https://example.com/", "http://example.com/", false),
            ("wss://example.com/", "https://example.com/", true),
            ("https://a.co.uk/", "https://b.co.uk/", false), ("https://1.2.3.4/", "https://5.2.3.4/", false),
            ("http://localhost:1/", "http://localhost:2/", true),
        ])
    func sameSite(address: String, document: String, expected: Bool) throws {
        let suffixes = PublicSuffixes { $0 == "co.uk" }
        let url = try HTTPURL(address)
        #expect(CookieRequest(url, document: .web(try HTTPURL(document))).isSameSite(by: suffixes) == expected)
        #expect(CookieRequest(url).isSameSite(by: suffixes))
        #expect(!CookieRequest(url, document: .other).isSameSite(by: suffixes))
    }

    // COOK-14
    @Test(
        "The main document's host must be in the cookie's domain",
        arguments: [
            ("http://example.com", "http://www.example.com/page", true),
            ("http://example.com", "http://example.com", true),
            ("http://www.example.com", "http://example.com", false),
            ("http://example.com", "http://notexample.com", false),
            ("http://example.com", "http://example.org", false), ("http://2.3.4", "http://1.2.3.4", false),
        ])
    func mainDocument(address: String, document: String, expected: Bool) throws {
        let url = try HTTPURL(address)
        let request = CookieRequest(url, document: .web(try HTTPURL(document)))
        #expect(CookieAcceptPolicy.onlyFromMainDocumentDomain.accepts(request) == expected)
        #expect(CookieAcceptPolicy.onlyFromMainDocumentDomain.accepts(CookieRequest(url)))
        #expect(!CookieAcceptPolicy.onlyFromMainDocumentDomain.accepts(CookieRequest(url, document: .other)))
        #expect(CookieAcceptPolicy.always.accepts(request))
        #expect(!CookieAcceptPolicy.never.accepts(CookieRequest(url)))
    }

    // COOK-13
    @Test("The stricter of two policies applies")
    func policies() {
        let order: [CookieAcceptPolicy] = [.always, .onlyFromMainDocumentDomain, .never]
        for (left, first) in order.enumerated() {
            for (right, second) in order.enumerated() {
                #expect(first.combined(with: second) == order[max(left, right)])
            }
        }
    }
}
