import LoadingSemantics
import Testing

/// Parsing of proxies.
@Suite struct ProxyServerTests {
    private func line(_ text: String) -> String? {
        ProxyServer(text).map { server in
            let credential = server.credential.map { " as \($0.user)|\($0.password)" } ?? ""
            return server.description + credential
        }
    }

    // PROXY-8
    @Test(
        "a proxy by its text",
        arguments: [
            ("http://host:3128", "http host:3128"), ("host:3128", "http host:3128"), ("host", "http host:80"),
            ("http://host", "http host:80"), ("https://host", "https host:443"), ("socks5://host", "socks5 host:1080"),
            ("socks5h://host:9050", "socks5 host:9050"), ("socks://host", "socks5 host:1080"),
            ("socks4://host", "socks4 host:1080"), ("socks4a://host:1", "socks4 host:1"),
            ("HTTP://HOST:3128/", "http host:3128"), ("http://host:3128/path?query#fragment", "http host:3128"),
            (" http://host:3128\n", "http host:3128"), ("http://host:", "http host:80"),
            ("http://[::1]:3128", "http [::1]:3128"), ("[2001:DB8::1]", "http [2001:db8::1]:80"),
            ("2001:db8::1", "http [2001:db8::1]:80"), ("socks5://[fe80::1%25eth0]:1", "socks5 [fe80::1%25eth0]:1"),
            ("[fe80::1%eth0]:8", "http [fe80::1%25eth0]:8"), ("fe80::1%eth0", "http [fe80::1%25eth0]:80"),
            ("[fe80::1%2525a]:8", "http [fe80::1%2525a]:8"), ("fe80::1%2%35a", "http [fe80::1%2525a]:80"),
            ("10.0.0.1:65535", "http 10.0.0.1:65535"), ("münchen.example:8", "http xn--mnchen-3ya.example:8"),
            ("under_score.example", "http under_score.example:80"),
        ])
    func text(text: String, expected: String) {
        #expect(line(text) == expected)
    }

    // PROXY-2, PROXY-8
    @Test(
        "a proxy by its text, with credentials",
        arguments: [
            ("http://u:p@host:3128", "http host:3128 as u|p"), ("u:p@host:3128", "http host:3128 as u|p"),
            ("socks5://u@host", "socks5 host:1080 as u|"), ("http://:p@host", "http host:80 as |p"),
            ("http://@host", "http host:80"), ("http://u%40x:p%3A%2F@host", "http host:80 as u@x|p:/"),
            ("http://u:p:q@host", "http host:80 as u|p:q"), ("http://u:p@q@host", "http host:80 as u|p@q"),
            ("http://u:50%@host", "http host:80 as u|50%"), ("http://%C3%BC:%E2%82%AC@host", "http host:80 as ü|€"),
        ])
    func credentials(text: String, expected: String) {
        #expect(line(text) == expected)
    }

    // PROXY-8
    @Test(
        "invalid proxies",
        arguments: [
            "", " ", "http://", "http://:80", "http:///", "ftp://host", "quic://host:1", "://host", "host:0",
            "host:65536", "host:99999999999999999999", "host:-1", "host:+1", "host:1x", "host:x", "a:b:c",
            "http://u:p/w@host", "[::1", "[::1]x", "[::1]:x", "[host]:1", "[]:1", "[10.0.0.1]", "::1::", "a b", "a\tb",
            "a\u{0}b", "ho\\st", "http://host\r\nX: y", "http://[::1%]", "fe80::1%a]x", "h%00st", "h%2Fst", "http://a@",
        ])
    func noProxy(text: String) {
        #expect(line(text) == nil)
    }

    // PROXY-1
    @Test(
        "a proxy by host and port",
        arguments: [
            ("Host", 3128, "http host:3128"), ("host", 0, "http host:80"), ("::1", 8, "http [::1]:8"),
            ("[::1]", 8, "http [::1]:8"), ("10.0.0.1", 8, "http 10.0.0.1:8"), ("host", -1, nil),
            ("host", 65536, nil), ("host", .max, nil), ("", 1, nil), ("host:1", 1, nil), ("http://host", 1, nil),
            ("u@host", 1, nil), ("host/", 1, nil),
        ] as [(String, Int, String?)])
    func hostAndPort(host: String, port: Int, expected: String?) {
        #expect(ProxyServer(kind: .http, host: host, port: port)?.description == expected)
    }

    // PROXY-2
    @Test("descriptions do not reveal credentials") func secrets() throws {
        let server = try #require(ProxyServer("http://hidden:secret@host:3128"))
        let route = ProxyRouteList.through(server)
        let rules = ProxyRules(system: ProxyEnvironment(["http_proxy": "http://hidden:secret@host:3128"]))
        let dictionary = ProxyDictionary([
            "HTTPEnable": .number(1), "HTTPProxy": .text("host"), "kCFProxyUsernameKey": .text("hidden"),
            "kCFProxyPasswordKey": .text("secret"),
        ])
        let values: [any Sendable] = [
            server, route, rules, dictionary, try #require(server.credential), Optional(server),
            ProxyConfigurationRules(server: server),
        ]
        for value in values {
            var text = "\(value) \(String(reflecting: value))"
            dump(value, to: &text)
            #expect(!text.contains("hidden") && !text.contains("secret"))
        }
    }
}
