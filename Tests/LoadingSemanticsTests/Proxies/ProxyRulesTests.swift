import LoadingSemantics
import Testing

/// The selection of proxies.
@Suite struct ProxyRulesTests {
    private func line(_ route: ProxyRouteList) -> String {
        let ways = route.routes.map { way in
            switch way {
            case .direct: "direct"
            case .through(let server):
                server.description + (server.credential.map { " as \($0.user)|\($0.password)" } ?? "")
            }
        }
        return ways.isEmpty ? "blocked" : ways.joined(separator: ", ")
    }

    private func line(_ rules: ProxyRules, _ url: String) throws -> String {
        let destination =
            if let url = try? FTPURL(url) { ProxyDestination(url) } else { ProxyDestination(try HTTPURL(url)) }
        return line(rules.route(for: destination))
    }

    private static let schemes = ["http", "ws", "https", "wss", "ftp"]

    // MARK: The environment

    // PROXY-8, S-5, C-17
    @Test(
        "the variables of the environment",
        arguments: [
            ([:], ["direct", "direct", "direct", "direct", "direct"], "direct"),
            (
                ["http_proxy": "a:1", "https_proxy": "b:2", "ftp_proxy": "c:3"],
                ["http a:1", "http a:1", "http b:2", "http b:2", "http c:3"], "direct"
            ),
            (
                ["all_proxy": "socks5h://d"],
                ["socks5 d:1080", "socks5 d:1080", "socks5 d:1080", "socks5 d:1080", "socks5 d:1080"], "socks5 d:1080"
            ),
            (
                ["HTTPS_PROXY": "https://b", "ALL_PROXY": "d"],
                ["http d:80", "http d:80", "https b:443", "https b:443", "http d:80"], "http d:80"
            ),
            (
                ["http_proxy": "", "HTTP_PROXY": "a:1", "https_proxy": "b:1", "HTTPS_PROXY": "c:1"],
                ["http a:1", "http a:1", "http b:1", "http b:1", "direct"], "direct"
            ),
            // An invalid proxy blocks the connection.
            (
                ["http_proxy": "quic://a", "all_proxy": "d"],
                ["blocked", "blocked", "http d:80", "http d:80", "http d:80"], "http d:80"
            ),
            (
                ["http_proxy": "http://u:p@a:1"],
                ["http a:1 as u|p", "http a:1 as u|p", "direct", "direct", "direct"], "direct"
            ),
        ] as [([String: String], [String], String)])
    func environment(variables: [String: String], expected: [String], others: String) throws {
        let rules = ProxyRules(system: ProxyEnvironment(variables))
        #expect(try Self.schemes.map { try line(rules, "\($0)://server.example/") } == expected)
        let stream = ProxyDestination(traffic: .other, host: "server.example", port: 7)
        #expect(line(rules.route(for: stream)) == others)
        #expect(rules.externalSource(for: stream) == nil)
    }

    // PROXY-8
    @Test("HTTP_PROXY is ignored under CGI, where a client can set it") func commonGateway() throws {
        var variables = ["HTTP_PROXY": "evil:1", "HTTPS_PROXY": "b:2", "REQUEST_METHOD": "GET"]
        #expect(try line(ProxyRules(system: ProxyEnvironment(variables)), "http://a.example/") == "direct")
        #expect(try line(ProxyRules(system: ProxyEnvironment(variables)), "https://a.example/") == "http b:2")
        variables["http_proxy"] = "good:1"
        #expect(try line(ProxyRules(system: ProxyEnvironment(variables)), "http://a.example/") == "http good:1")
        variables = ["HTTP_PROXY": "good:1"]
        #expect(try line(ProxyRules(system: ProxyEnvironment(variables)), "http://a.example/") == "http good:1")
    }

    // PROXY-8
    @Test("no_proxy takes precedence over NO_PROXY") func noProxyCase() throws {
        let route = { (more: [String: String]) in
            let variables = more.merging(["http_proxy": "a:1"]) { old, _ in old }
            return try line(ProxyRules(system: ProxyEnvironment(variables)), "http://b.example/")
        }
        #expect(try route(["NO_PROXY": "b.example"]) == "direct")
        #expect(try route(["NO_PROXY": "b.example", "no_proxy": "c.example"]) == "http a:1")
        #expect(try route(["NO_PROXY": "c.example", "no_proxy": "b.example"]) == "direct")
    }

    // MARK: The dictionary

    private func rules(_ dictionary: [String: ProxyDictionary.Value]) -> ProxyRules {
        ProxyRules(
            dictionary: ProxyDictionary(dictionary), system: ProxyEnvironment(["all_proxy": "system:1"]))
    }

    // PROXY-4, C-17
    @Test("an empty dictionary means no proxy, no dictionary the system settings") func emptyDictionary() throws {
        #expect(try line(rules([:]), "http://a.example/") == "direct")
        #expect(rules([:]).isEmpty)
        #expect(ProxyRules(system: ProxyEnvironment(["no_proxy": "a"])).isEmpty)
        let system = ProxyRules(system: ProxyEnvironment(["all_proxy": "system:1"]))
        #expect(try line(system, "http://a.example/") == "http system:1")
        #expect(!system.isEmpty)
    }

    // PROXY-1
    @Test(
        "the keys of a dictionary",
        arguments: [
            (
                ["HTTPEnable": .number(1), "HTTPProxy": .text("a"), "HTTPPort": .number(8080)],
                ["http a:8080", "direct"]
            ),
            (["HTTPEnable": .number(0), "HTTPProxy": .text("a"), "HTTPPort": .number(8080)], ["direct", "direct"]),
            (["HTTPProxy": .text("a"), "HTTPPort": .number(8080)], ["direct", "direct"]),
            (["HTTPEnable": .number(-1), "HTTPProxy": .text("a")], ["http a:80", "direct"]),
            (["HTTPEnable": .text("1"), "HTTPProxy": .text("a"), "HTTPPort": .text("8")], ["http a:8", "direct"]),
            (["HTTPEnable": .texts([]), "HTTPProxy": .text("a")], ["direct", "direct"]),
            (["HTTPEnable": .number(1)], ["direct", "direct"]),
            (["HTTPEnable": .number(1), "HTTPProxy": .text("")], ["direct", "direct"]),
            (["HTTPEnable": .number(1), "HTTPProxy": .text("a b")], ["blocked", "direct"]),
            (["HTTPEnable": .number(1), "HTTPProxy": .other], ["blocked", "direct"]),
            (["HTTPEnable": .number(1), "HTTPProxy": .number(1)], ["blocked", "direct"]),
            (["HTTPEnable": .number(1), "HTTPProxy": .text("a"), "HTTPPort": .number(70000)], ["blocked", "direct"]),
            (["HTTPEnable": .number(1), "HTTPProxy": .text("a"), "HTTPPort": .text("x")], ["blocked", "direct"]),
            (["HTTPSEnable": .number(1), "HTTPSProxy": .text("b"), "HTTPSPort": .number(1)], ["direct", "http b:1"]),
            (
                [
                    "SOCKSEnable": .number(1), "SOCKSProxy": .text("s"), "HTTPSEnable": .number(1),
                    "HTTPSProxy": .text("b"), "HTTPSPort": .number(1),
                ], ["socks5 s:1080", "http b:1"]
            ),
        ] as [([String: ProxyDictionary.Value], [String])])
    func dictionary(values: [String: ProxyDictionary.Value], expected: [String]) throws {
        let rules = rules(values)
        #expect(try ["http", "https"].map { try line(rules, "\($0)://server.example/") } == expected)
        #expect(try ["ws", "wss"].map { try line(rules, "\($0)://server.example/") } == expected)
    }

    // STREAM-9, PROXY-1: a SOCKS proxy carries any port; a proxy for HTTPS makes tunnels
    @Test(
        "streams",
        arguments: [
            (["HTTPSEnable": .number(1), "HTTPSProxy": .text("b"), "HTTPSPort": .number(1)], "http b:1"),
            (["HTTPSEnable": .number(1), "HTTPSProxy": .text("b")], "http b:80"),
            (["HTTPSEnable": .number(0), "HTTPSProxy": .text("b"), "HTTPSPort": .number(1)], "direct"),
            (["HTTPSProxy": .text("b"), "HTTPSPort": .number(1)], "direct"),
            (["HTTPSEnable": .number(1), "HTTPSProxy": .text("b"), "HTTPSPort": .number(-1)], "blocked"),
            (["HTTPEnable": .number(1), "HTTPProxy": .text("a"), "HTTPPort": .number(1)], "direct"),
            (["SOCKSEnable": .number(1), "SOCKSProxy": .text("s"), "SOCKSPort": .number(4)], "socks5 s:4"),
            (["SOCKSProxy": .text("s"), "SOCKSPort": .number(4)], "socks5 s:4"),
            (["SOCKSEnable": .number(0), "SOCKSProxy": .text("s"), "SOCKSPort": .number(4)], "direct"),
            (["SOCKSPort": .number(4)], "direct"),
            (
                [
                    "SOCKSEnable": .number(1), "SOCKSProxy": .text("s"), "HTTPSEnable": .number(1),
                    "HTTPSProxy": .text("b"),
                ], "socks5 s:1080"
            ),
            (
                [
                    "HTTPSEnable": .number(1), "HTTPSProxy": .text("b"), "kCFProxyUsernameKey": .text("u"),
                    "kCFProxyPasswordKey": .text("p"),
                ], "http b:80 as u|p"
            ),
            (["HTTPSEnable": .number(1), "HTTPSProxy": .text("b"), "ExceptionsList": .texts(["*.example"])], "direct"),
        ] as [([String: ProxyDictionary.Value], String)])
    func streams(values: [String: ProxyDictionary.Value], expected: String) {
        let stream = ProxyDestination(traffic: .other, host: "server.example", port: 7)
        #expect(line(rules(values).route(for: stream)) == expected)
        #expect(rules(values).externalSource(for: stream) == nil)
    }

    // PROXY-1, S-5
    @Test("FTP and streams") func otherTraffic() throws {
        let rules = rules([
            "FTPEnable": .number(1), "FTPProxy": .text("f"), "FTPPort": .number(3), "SOCKSEnable": .number(1),
            "SOCKSProxy": .text("s"), "SOCKSPort": .number(4),
        ])
        #expect(try line(rules, "ftp://server.example/") == "http f:3")
        let stream = ProxyDestination(traffic: .other, host: "server.example", port: 7)
        #expect(line(rules.route(for: stream)) == "socks5 s:4")
    }

    // PROXY-2
    @Test("the credentials in a dictionary") func credentials() throws {
        var values: [String: ProxyDictionary.Value] = [
            "HTTPEnable": .number(1), "HTTPProxy": .text("a"), "SOCKSEnable": .number(1), "SOCKSProxy": .text("s"),
            "kCFProxyUsernameKey": .text("u"),
        ]
        #expect(try line(rules(values), "http://x.example/") == "http a:80")
        values["kCFProxyPasswordKey"] = .text("")
        #expect(try line(rules(values), "http://x.example/") == "http a:80 as u|")
        values["kCFProxyPasswordKey"] = .text("p")
        #expect(try line(rules(values), "https://x.example/") == "socks5 s:1080 as u|p")
        values["kCFStreamPropertySOCKSUser"] = .text("v")
        values["kCFStreamPropertySOCKSPassword"] = .text("q")
        #expect(try line(rules(values), "https://x.example/") == "socks5 s:1080 as v|q")
        #expect(try line(rules(values), "http://x.example/") == "http a:80 as u|p")
    }

    // PROXY-5
    @Test(
        "the version of SOCKS in a dictionary",
        arguments: [
            ("kCFStreamSocketSOCKSVersion4", "socks4 s:1080"), ("kCFStreamSocketSOCKSVersion5", "socks5 s:1080"),
            ("", "socks5 s:1080"),
        ])
    func versionOfSOCKS(version: String, expected: String) throws {
        var values: [String: ProxyDictionary.Value] = [
            "SOCKSEnable": .number(1), "SOCKSProxy": .text("s"), "kCFStreamPropertySOCKSVersion": .text(version),
        ]
        #expect(try line(rules(values), "http://x.example/") == expected)
        // SOCKS4 has a user only.
        values["kCFStreamPropertySOCKSUser"] = .text("u")
        let isSOCKS4 = expected.hasPrefix("socks4")
        #expect(try line(rules(values), "http://x.example/") == (isSOCKS4 ? expected + " as u|" : expected))
    }

    // PROXY-6
    @Test(
        "the URL of a script",
        arguments: [
            ("http://pac.example/p", "http://pac.example/p"), ("https://pac.example/p", "https://pac.example/p"),
            (" http://pac.example/p\n", "http://pac.example/p"), ("file:///p", nil), ("ftp://pac.example/p", nil),
            ("ws://pac.example/p", nil), ("pac.example", nil), ("", nil), (" ", nil),
        ] as [(String, String?)])
    func scripts(address: String, expected: String?) throws {
        let rules = rules(["ProxyAutoConfigEnable": .number(1), "ProxyAutoConfigURLString": .text(address)])
        let server = ProxyDestination(try HTTPURL("http://server.example/"))
        #expect(rules.externalSource(for: server) == expected.map { .script(.url($0)) })
        #expect(rules.externalSource(for: ProxyDestination(try HTTPURL("http://localhost/"))) == nil)
        #expect(!rules.isEmpty)
    }

    // PROXY-1, PROXY-10: to go directly would show what the script was to hide
    @Test(
        "an invalid script gives no answer",
        arguments: [
            ["ProxyAutoConfigURLString": .text("file:///p")], ["ProxyAutoConfigURLString": .text("pac.example")],
            ["ProxyAutoConfigURLString": .other], ["ProxyAutoConfigJavaScript": .text("")], [:],
        ] as [[String: ProxyDictionary.Value]])
    func impossibleScript(values: [String: ProxyDictionary.Value]) throws {
        var values = values.merging(["ProxyAutoConfigEnable": .number(1)]) { $1 }
        let server = ProxyDestination(try HTTPURL("http://server.example/"))
        #expect(rules(values).externalSource(for: server) == nil)
        let route = rules(values).route(for: server)
        #expect(line(route) == "blocked" && route.failure(.request) == .scriptFailed)
        #expect(try line(rules(values), "http://localhost/") == "direct")
        values["SOCKSEnable"] = .number(1)
        values["SOCKSProxy"] = .text("s")
        #expect(line(rules(values).route(for: server)) == "socks5 s:1080")
    }

    // PROXY-1, PROXY-10
    @Test("the source of a script takes precedence over its URL") func scriptSource() throws {
        let values: [String: ProxyDictionary.Value] = [
            "ProxyAutoConfigEnable": .number(1), "ProxyAutoConfigURLString": .text("file:///p"),
            "ProxyAutoConfigJavaScript": .text("x"),
        ]
        let server = ProxyDestination(try HTTPURL("http://server.example/"))
        #expect(rules(values).externalSource(for: server) == .script(.source(PACScriptText("x"))))
    }

    // PROXY-1, PROXY-3, PROXY-9
    @Test("the answer of a script takes precedence over explicit proxies") func scriptAnswer() throws {
        var values: [String: ProxyDictionary.Value] = [
            "ProxyAutoConfigEnable": .number(1), "ProxyAutoConfigJavaScript": .text("function FindProxyForURL() {}"),
            "HTTPEnable": .number(1), "HTTPProxy": .text("a"), "ExceptionsList": .texts(["*.local"]),
        ]
        let server = ProxyDestination(try HTTPURL("http://server.example/"))
        let answer = PACResult("SOCKS s; DIRECT").route
        #expect(
            rules(values).externalSource(for: server)
                == .script(.source(PACScriptText("function FindProxyForURL() {}"))))
        #expect(line(rules(values).route(for: server, answer: answer)) == "socks5 s:1080, direct")
        #expect(line(rules(values).route(for: server)) == "http a:80")
        for host in ["localhost", "a.local"] {
            let excluded = ProxyDestination(try HTTPURL("http://\(host)/"))
            #expect(rules(values).externalSource(for: excluded) == nil)
            #expect(rules(values).route(for: excluded, answer: answer).routes == [.direct])
        }
        values["ProxyAutoConfigEnable"] = .number(0)
        #expect(rules(values).externalSource(for: server) == nil)
        #expect(line(rules(values).route(for: server, answer: answer)) == "http a:80")
    }

    // MARK: Configurations

    private func configured(_ configurations: ProxyConfigurationRules..., host: String) throws -> String {
        let rules = ProxyRules(
            configurations: configurations, dictionary: ProxyDictionary([:]), system: ProxyEnvironment([:]))
        return try line(rules, "https://\(host)/")
    }

    private func proxy(
        _ text: String, failover: Bool = false, match: [String] = [], excluded: [String] = []
    ) -> ProxyConfigurationRules {
        ProxyConfigurationRules(
            server: ProxyServer(text), allowsFailover: failover, matchDomains: match, excludedDomains: excluded)
    }

    // C-18
    @Test("configurations take precedence over the dictionary, an empty list does not") func precedence() throws {
        let dictionary = ProxyDictionary(["HTTPEnable": .number(1), "HTTPProxy": .text("d")])
        let system = ProxyEnvironment(["all_proxy": "s"])
        let url = "http://server.example/"
        let configured = ProxyRules(configurations: [proxy("a:1")], dictionary: dictionary, system: system)
        #expect(try line(configured, url) == "http a:1")
        #expect(try line(ProxyRules(configurations: [], dictionary: dictionary, system: system), url) == "http d:80")
        #expect(try line(ProxyRules(configurations: [], system: system), url) == "http s:80")
        let elsewhere = ProxyRules(
            configurations: [proxy("a:1", match: ["x.example"])], dictionary: dictionary, system: system)
        #expect(try line(elsewhere, url) == "direct")
    }

    // PROXY-7
    @Test(
        "the domains of a configuration",
        arguments: [
            ([], [], "server.example", true), (["server.example"], [], "server.example", true),
            (["server.example"], [], "www.server.example", true), (["server.example"], [], "myserver.example", false),
            ([".server.example"], [], "www.server.example", true),
            (["*.server.example"], [], "www.server.example", true),
            (["SERVER.example."], [], "server.EXAMPLE", true),
            (["example"], ["server.example"], "server.example", false),
            (["example"], ["server.example"], "a.server.example", false),
            (["example"], ["server.example"], "other.example", true), ([], ["example"], "server.example", false),
            (["10.0.0.0/8"], [], "10.1.2.3", true), (["10.0.0.1"], [], "10.0.0.2", false),
        ] as [([String], [String], String, Bool)])
    func domains(match: [String], excluded: [String], host: String, isProxied: Bool) throws {
        let configuration = proxy("https://a", match: match, excluded: excluded)
        #expect(try configured(configuration, host: host) == (isProxied ? "https a:443" : "direct"))
    }

    // PROXY-7: with invalid domains, the intended ones are unknown
    @Test("invalid match domains") func impossibleDomains() throws {
        let host = "server.example"
        for domain in ["", "https://server.example", "a b"] {
            #expect(try configured(proxy("a:1", match: [domain]), host: host) == "blocked")
            #expect(try configured(proxy("a:1", match: [domain]), host: "localhost") == "direct")
            #expect(try configured(proxy("a:1", match: [domain], excluded: ["example"]), host: host) == "direct")
            #expect(try configured(proxy("a:1", failover: true, match: [domain]), host: host) == "direct")
            #expect(try configured(proxy("a:1", match: [domain, "x.example"]), host: host) == "direct")
        }
    }

    // PROXY-7
    @Test("failover continues with the next proxy, and finally directly") func failover() throws {
        let host = "server.example"
        #expect(try configured(proxy("a:1"), host: host) == "http a:1")
        #expect(try configured(proxy("a:1", failover: true), host: host) == "http a:1, direct")
        #expect(try configured(proxy("a:1"), proxy("b:1"), host: host) == "http a:1")
        #expect(
            try configured(proxy("a:1", failover: true), proxy("socks5://b"), host: host) == "http a:1, socks5 b:1080")
        #expect(
            try configured(proxy("a:1", failover: true), proxy("b:1", failover: true), host: host)
                == "http a:1, http b:1, direct")
        #expect(try configured(proxy("a:1", match: ["x"]), proxy("b:1"), host: host) == "http b:1")
        #expect(try configured(proxy(""), host: host) == "blocked")
        #expect(try configured(proxy("", failover: true), proxy("b:1"), host: host) == "http b:1")
    }

    // PROXY-9
    @Test("the local machine uses a configured proxy only if it is listed") func loopback() throws {
        for host in ["localhost", "127.0.0.1", "[::1]", "a.localhost"] {
            #expect(try configured(proxy("a:1"), host: host) == "direct")
            #expect(try configured(proxy("a:1", match: ["server.example"]), host: host) == "direct")
        }
        #expect(try configured(proxy("a:1", match: ["localhost"]), host: "localhost") == "http a:1")
        #expect(try configured(proxy("a:1", match: ["localhost"]), host: "127.0.0.1") == "direct")
        #expect(try configured(proxy("a:1", match: ["127.0.0.1"]), host: "127.0.0.1") == "http a:1")
        #expect(try configured(proxy("a:1", match: ["::1"]), host: "[::1]") == "http a:1")
    }

    // MARK: Scripts

    // PROXY-6
    @Test(
        "the results of a script",
        arguments: [
            ("PROXY a:80; SOCKS5 b:1080; HTTPS c:443; DIRECT", "http a:80, socks5 b:1080, https c:443, direct"),
            ("DIRECT", "direct"), ("", "direct"), (" ; ;", "direct"), ("proxy a", "http a:80"),
            ("HTTP a:1", "http a:1"),
            ("HTTPS a", "https a:443"), ("SOCKS a", "socks5 a:1080"), ("SOCKS4 a:9", "socks4 a:9"),
            ("PROXY\ta:1;DIRECT;", "http a:1, direct"),
            ("PROXY [::1]:8; PROXY 10.0.0.1:9", "http [::1]:8, http 10.0.0.1:9"),
            ("QUIC a:1; PROXY b:2", "http b:2"), ("QUIC a:1", "blocked"), ("PROXY", "blocked"),
            ("PROXY a:0", "blocked"),
            ("PROXY a b", "blocked"), ("DIRECT a", "blocked"), ("PROXY u:p@a:1", "blocked"),
            ("PROXY http://a:1", "blocked"),
            ("a:1", "blocked"), ("undefined", "blocked"), ("PROXY a:1; PROXY a:1; DIRECT; DIRECT", "http a:1, direct"),
            ("DIRECT; PROXY a:1", "direct, http a:1"), ("PROXY \u{0}", "blocked"),
            ("PROXY ü.example:1", "http xn--tda.example:1"),
        ])
    func script(text: String, expected: String) {
        #expect(line(PACResult(text).route) == expected)
    }

    // PROXY-6
    @Test("a script result without end") func endlessScript() {
        let many = (0..<1000).map { "PROXY a\($0):1" }.joined(separator: ";")
        #expect(PACResult(many).route.routes.count == PACResult.Limit.routes)
        // The truncated last entry would be another host.
        let host = String(repeating: "a", count: PACResult.Limit.length)
        #expect(line(PACResult("PROXY b:1;PROXY " + host).route) == "http b:1")
        #expect(line(PACResult("PROXY " + host).route) == "blocked")
        #expect(line(PACResult(String(repeating: " ", count: PACResult.Limit.length + 1)).route) == "blocked")
    }

    // MARK: Destinations

    // PROXY-5
    @Test(
        "the target of a tunnel",
        arguments: [
            ("https://server.example/", "server.example:443"), ("http://server.example/", "server.example:80"),
            ("wss://server.example:444/", "server.example:444"), ("https://[2001:DB8::1]/", "[2001:db8::1]:443"),
            ("https://[fe80::1%25eth0]/", "[fe80::1]:443"), ("https://10.0.0.1:8/", "10.0.0.1:8"),
            // Not an address, but unambiguous.
            ("https://[1::2::3]/", "[1::2::3]:443"),
        ])
    func authority(url: String, expected: String) throws {
        #expect(ProxyDestination(try HTTPURL(url)).authority == expected)
    }
}
