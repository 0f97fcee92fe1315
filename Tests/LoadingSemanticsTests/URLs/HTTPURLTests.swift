import Foundation
import LoadingSemantics
import Testing

/// The parts of a URL, for comparison as one value.
private struct Parts: Equatable {
    var scheme: HTTPURL.Scheme
    var host: String
    var port: UInt16
    var authority: String
    var target: String
    var userinfo: String?

    init(
        _ scheme: HTTPURL.Scheme, _ host: String, _ port: UInt16, _ authority: String, _ target: String,
        userinfo: String? = nil
    ) {
        self.scheme = scheme
        self.host = host
        self.port = port
        self.authority = authority
        self.target = target
        self.userinfo = userinfo
    }

    init(_ url: HTTPURL) {
        self.init(
            url.scheme, url.host, url.port, String(decoding: url.authority, as: UTF8.self),
            String(decoding: url.target, as: UTF8.self), userinfo: url.userinfo)
    }
}

@Suite struct HTTPURLTests {
    // MISC-27
    @Test(arguments: [
        ("http://a.example", Parts(.http, "a.example", 80, "a.example", "/")),
        ("HTTPS://WWW.Example.COM:443/A/b?C=d#e", Parts(.https, "www.example.com", 443, "www.example.com", "/A/b?C=d")),
        ("http://a.example:8080?q", Parts(.http, "a.example", 8080, "a.example:8080", "/?q")),
        ("http://a.example#f", Parts(.http, "a.example", 80, "a.example", "/")),
        ("http://a.example:/x", Parts(.http, "a.example", 80, "a.example", "/x")),
        ("https://a.example:80/", Parts(.https, "a.example", 80, "a.example:80", "/")),
        ("ws://a.example/chat", Parts(.ws, "a.example", 80, "a.example", "/chat")),
        ("wss://a.example:65535/", Parts(.wss, "a.example", 65535, "a.example:65535", "/")),
        (
            "http://user:p%40ss@a.example:81/",
            Parts(.http, "a.example", 81, "a.example:81", "/", userinfo: "user:p%40ss")
        ),
        ("http://a@b@c.example/", Parts(.http, "c.example", 80, "c.example", "/", userinfo: "a@b")),
        ("http://a.example/p/../q//%2F?a=/?b", Parts(.http, "a.example", 80, "a.example", "/p/../q//%2F?a=/?b")),
        ("http://a.example/?x#y#z", Parts(.http, "a.example", 80, "a.example", "/?x")),
        ("http://127.0.0.1:00080/", Parts(.http, "127.0.0.1", 80, "127.0.0.1", "/")),
        ("http://a_b.example./", Parts(.http, "a_b.example.", 80, "a_b.example.", "/")),
        ("http://a.example/ü", Parts(.http, "a.example", 80, "a.example", "/%C3%BC")),
    ])
    private func reads(text: String, parts: Parts) throws {
        #expect(Parts(try HTTPURL(text)) == parts)
    }

    // MISC-11
    @Test(
        arguments: [
            ("http://a.example/", nil), ("http://a.example/a.b/c", nil),
            ("http://a.example/a.b/c.Html?d.e#f.g", "Html"),
            ("http://a.example/a.tar.gz", "gz"), ("http://a.example/.profile", nil), ("http://a.example/a.", nil),
            ("http://a.example?a.b", nil), ("http://a.example/a.b/", nil),
        ] as [(String, String?)])
    func pathExtensions(text: String, pathExtension: String?) throws {
        #expect(try HTTPURL(text).pathExtension == pathExtension)
    }

    // CONN-9
    @Test(arguments: [
        ("http://[::1]/", Parts(.http, "::1", 80, "[::1]", "/")),
        ("https://[2001:DB8::A]:8443/x", Parts(.https, "2001:db8::a", 8443, "[2001:db8::a]:8443", "/x")),
        ("http://[fe80::1%25eth0]:8080/", Parts(.http, "fe80::1%eth0", 8080, "[fe80::1]:8080", "/")),
        ("http://[fe80::1%eth0]/", Parts(.http, "fe80::1%eth0", 80, "[fe80::1]", "/")),
        ("http://[::ffff:10.0.0.1]", Parts(.http, "::ffff:10.0.0.1", 80, "[::ffff:10.0.0.1]", "/")),
    ])
    private func readsIPv6Literals(text: String, parts: Parts) throws {
        #expect(Parts(try HTTPURL(text)) == parts)
    }

    // CONN-21
    @Test(arguments: [
        ("http://bücher.example/", "xn--bcher-kva.example"), ("http://B%C3%9CCHER.example/", "xn--bcher-kva.example"),
        ("http://ex%61mple.com/", "example.com"), ("http://例え.テスト/", "xn--r8jz45g.xn--zckzah"),
        ("http://日本語。jp/", "xn--wgv71a119e.jp"), ("http://faß.de/", "xn--fa-hia.de"),
        ("http://почта.рф:80/", "xn--80a1acny.xn--p1ai"), ("http://☃.example/", "xn--n3h.example"),
        ("http://ไทย.example/", "xn--o3cw4h.example"), ("http://한국.example/", "xn--3e0b707e.example"),
        ("http://भारत.example/", "xn--h2brj9c.example"), ("http://παράδειγμα.example/", "xn--hxajbheg2az3al.example"),
    ])
    func hostsBecomeASCII(text: String, host: String) throws {
        let url = try HTTPURL(text)
        #expect([url.host, String(decoding: url.authority, as: UTF8.self)] == [host, host])
    }

    // CONN-21
    @Test(arguments: [
        "\u{1EB9}\u{300}k\u{1ECD}\u{301}.example", "\u{130}zmir.example", "x\u{323}\u{301}.example", "क\u{93C}.example",
        "ไทย.example", "نامه\u{200C}ای.example", "ΣΊΣΥΦΟΣ.example", "சிங்கப்பூர்.example", "ශ්\u{200D}රී.example",
    ])
    func hostsAreMappedAsInTheURLOfARequest(host: String) throws {
        let url = try #require(URL(string: "http://\(host)/"))
        #expect(try "http://\(HTTPURL("http://\(host)/").host)/" == url.absoluteString)
    }

    // CONN-21: as they are, they would be other hosts than those of the same URL in a request
    @Test(arguments: [
        "bu\u{308}cher.example", "\u{FF4C}ocalhost", "loc\u{AD}alhost", "\u{2460}\u{2461}.0.0.1", "か\u{3099}.example",
        "\u{1112}\u{1161}\u{11AB}.example", "%EF%BD%8Cocalhost", "\u{627}\u{653}.example",
        "\u{995}\u{9C7}\u{9BE}.example", "\u{B95}\u{BC6}\u{BBE}.example",
        "\u{C95}\u{CC6}\u{CC2}.example", "\u{D15}\u{D46}\u{D3E}.example",
        "\u{D9A}\u{DD9}\u{DCF}.example", "\u{928}\u{93C}.example", "e\u{323}\u{300}.example", "e\u{300}\u{323}.example",
        "a\u{301}\u{323}.example", "x\u{301}\u{323}.example",
    ])
    func hostsThatNeedAMappingAreRefused(host: String) {
        #expect(throws: HTTPURL.Failure.badHost) { try HTTPURL("http://\(host)/") }
    }

    // ERR-5, ERR-15
    @Test(
        arguments: [
            ("", .unsupportedScheme), ("a.example/x", .unsupportedScheme), ("//a.example/", .unsupportedScheme),
            ("ftp://a.example/", .unsupportedScheme), ("http:/a.example", .unsupportedScheme),
            ("http", .unsupportedScheme),
            ("httpx://a/", .unsupportedScheme), ("http://", .noHost), ("http:///x", .noHost), ("http://:80/", .noHost),
            ("http://u@/", .noHost), ("http://?q", .noHost), ("http://a.example:0/", .badPort),
            ("http://a.example:65536/", .badPort), ("http://a.example:99999999999999999999/", .badPort),
            ("http://a.example:8o/", .badPort), ("http://a.example:+80/", .badPort), ("http://a:b:c/", .badPort),
            ("http://[::1]x/", .badPort), ("http://[::1/", .badHost), ("http://[]/", .badHost),
            ("http://[v1.x]/", .badHost), ("http://[::1%25]/", .badHost), ("http://[12]/", .badHost),
            ("http://this%20is%20not%20a%20valid%20URL", .badHost), ("http://a|b/", .badHost),
            ("http://a%00b/", .badHost),
            ("http://a%2/", .badHost), ("http://%FF%FE/", .badHost), ("http://a%2Fb/", .badHost),
            ("http://%/", .badHost),
            ("http://a b/", .badCharacter), ("http://a/b c", .badCharacter), ("http://a/\r\nX: y", .badCharacter),
            ("http://a/\u{0}", .badCharacter), ("http://a\u{7F}/", .badCharacter), ("http://u p@a/", .badCharacter),
        ] as [(String, HTTPURL.Failure)])
    func refuses(text: String, failure: HTTPURL.Failure) {
        #expect(throws: failure) { try HTTPURL(text) }
    }

    // RFC 1035: a label has at most 63 characters.
    @Test func longInternationalLabelIsRefused() {
        #expect(throws: HTTPURL.Failure.badHost) { try HTTPURL("http://" + String(repeating: "ü", count: 64) + "/") }
        #expect(throws: HTTPURL.Failure.badHost) { try HTTPURL("http://" + String(repeating: "語", count: 60) + "/") }
    }

    // ERR-5
    @Test func failuresHaveTheirCodes() {
        let failures: [HTTPURL.Failure] = [.unsupportedScheme, .noHost, .badHost, .badPort, .badCharacter]
        #expect(failures.map(\.loadError) == [.unsupportedURL, .badURL, .cannotFindHost, .badURL, .badURL])
    }

    // PROXY-5
    @Test func absoluteFormIsForProxies() throws {
        let url = try HTTPURL("HTTP://u:p@A.example:8080?x#y")
        #expect(String(decoding: url.absoluteForm, as: UTF8.self) == "http://a.example:8080/?x")
    }

    // AUTH-11
    @Test(
        arguments: [
            ("http://u:p@a/", "u", "p"), ("http://u@a/", "u", nil), ("http://u%40x:p%3Aq:r@a/", "u@x", "p:q:r"),
            ("http://:p@a/", "", "p"), ("http://u%zz@a/", "u%zz", nil),
        ] as [(String, String, String?)])
    func userAndPasswordAreDecoded(text: String, user: String, password: String?) throws {
        let credential = try #require(try HTTPURL(text).credential)
        #expect(credential == (user, password))
    }

    @Test func urlWithoutUserHasNoCredential() throws {
        #expect(try HTTPURL("http://a/").credential == nil)
        #expect(try HTTPURL("http://@a/").credential == nil)
    }

    // RFC 6454
    @Test func origins() throws {
        let origin = try HTTPURL("http://a.example/x")
        let others = ["http://A.example:80/", "https://a.example/", "http://a.example:81/", "http://b.example/"]
        #expect(try others.map { origin.isSameOrigin(as: try HTTPURL($0)) } == [true, false, false, false])
    }
}
