import LoadingSemantics
import Testing

/// External proxy sources: when they are queried, their input, and the use of their answers.
@Suite struct ExternalProxySourceTests {
    private let script: [String: ProxyDictionary.Value] = [
        "ProxyAutoConfigEnable": .number(1), "ProxyAutoConfigJavaScript": .text("x"),
    ]

    // PROXY-10
    @Test("without an answer the explicit proxies are used, else there is no route") func noAnswer() throws {
        let server = ProxyDestination(try HTTPURL("https://server.example/"))
        let alone = ProxyRules(dictionary: ProxyDictionary(script), system: ProxyEnvironment([:]))
        #expect(alone.route(for: server) == .scriptFailed && alone.route(for: server).routes.isEmpty)
        #expect(alone.route(for: server).failure(.tunnel) == .scriptFailed)
        #expect(ProxyRouteList.noUsableProxy.failure(.tunnel) == .unusableSettings(.tunnel))
        let settings = script.merging(["SOCKSEnable": .number(1), "SOCKSProxy": .text("s")]) { $1 }
        let more = ProxyRules(dictionary: ProxyDictionary(settings), system: ProxyEnvironment([:]))
        #expect(more.route(for: server) == ProxyServer("socks://s").map(ProxyRouteList.through))
    }

    // PROXY-8, PROXY-4, PROXY-9
    @Test("the desktop is queried if there are no other settings") func desktop() throws {
        let server = ProxyDestination(try HTTPURL("https://server.example/"))
        let none = ProxyEnvironment([:])
        let rules = ProxyRules(system: none, knowsDesktop: true)
        #expect(rules.externalSource(for: server) == .desktop && !rules.isEmpty)
        #expect(rules.route(for: server) == .direct)
        #expect(rules.route(for: server, answer: .noUsableProxy) == .noUsableProxy)
        #expect(rules.externalSource(for: ProxyDestination(try HTTPURL("http://localhost/"))) == nil)
        let named = ProxyRules(system: ProxyEnvironment(["http_proxy": "a"]), knowsDesktop: true)
        #expect(named.externalSource(for: server) == nil)
        let empty = ProxyRules(dictionary: ProxyDictionary([:]), system: none, knowsDesktop: true)
        #expect(empty.externalSource(for: server) == nil && empty.isEmpty)
        #expect(ProxyRules(system: none).isEmpty)
    }

    // PROXY-8
    @Test(
        "the output of libproxy",
        arguments: [
            ("", "direct"), ("direct://\n", "direct"), ("http://a:3128\ndirect://\n", "http a:3128, direct"),
            (
                "socks://a\nsocks5://b\nsocks4://c:1\nhttps://d\n",
                "socks5 a:1080, socks5 b:1080, socks4 c:1, https d:443"
            ),
            ("http://a\nhttp://a\n", "http a:80"), ("wpad://\n", ""), ("pac+http://a/p\nhttp://b\n", "http b:80"),
            ("http://u:p@a:1\n", "http a:1"), ("r:1\n", "http r:1"),
        ])
    func desktopText(text: String, expected: String) {
        let ways = ProxyRouteList(desktop: text).routes.map { way in
            switch way {
            case .direct: "direct"
            case .through(let server): "\(server)"
            }
        }
        #expect(ways.joined(separator: ", ") == expected)
    }

    // PROXY-11
    @Test(
        "the query contains no secrets",
        arguments: [
            ("http://u:p@A.example/x?y#z", "http://a.example/x?y", "a.example"),
            ("http://a.example:81", "http://a.example:81/", "a.example"),
            ("https://u:p@a.example/x?y#z", "https://a.example/", "a.example"),
            ("https://a.example:444/x", "https://a.example:444/", "a.example"),
            ("http://[2001:db8::1]:81/x", "http://[2001:db8::1]:81/x", "2001:db8::1"),
        ])
    func query(address: String, url: String, host: String) throws {
        let query = ProxyQuery(try HTTPURL(address))
        #expect(query.url == url && query.host == host)
    }

    // PROXY-11
    @Test("the query for other protocols") func otherInquiry() throws {
        let stream = ProxyQuery(ProxyDestination(traffic: .other, host: "a.example", port: 7))
        #expect(stream.url == "tcp://a.example:7/" && stream.host == "a.example")
        let file = ProxyQuery(ProxyDestination(try FTPURL("ftp://u:p@a.example/secret")))
        #expect(file.url == "ftp://a.example:21/")
    }
}
