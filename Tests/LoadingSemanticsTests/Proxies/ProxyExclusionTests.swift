import LoadingSemantics
import Testing

/// Lists of hosts that are reached without a proxy.
@Suite struct ProxyExclusionTests {
    private func destination(_ text: String) throws -> ProxyDestination {
        ProxyDestination(try HTTPURL("http://\(text)/"))
    }

    private func isExcluded(_ place: String, noProxy: String) throws -> Bool {
        let environment = ProxyEnvironment(["http_proxy": "proxy:3128", "no_proxy": noProxy])
        return ProxyRules(system: environment).route(for: try destination(place)).routes == [.direct]
    }

    private func isExcluded(_ place: String, exceptions: [String], simple: Int? = nil) throws -> Bool {
        var values: [String: ProxyDictionary.Value] = [
            "HTTPEnable": .number(1), "HTTPProxy": .text("proxy"), "ExceptionsList": .texts(exceptions),
        ]
        if let simple { values["ExcludeSimpleHostnames"] = .number(simple) }
        let rules = ProxyRules(dictionary: ProxyDictionary(values), system: ProxyEnvironment([:]))
        return rules.route(for: try destination(place)).routes == [.direct]
    }

    // PROXY-8
    @Test(
        "no_proxy excludes",
        arguments: [
            ("example.com", "example.com"), ("example.com", "www.example.com"), ("example.com", "a.b.example.com"),
            (".example.com", "example.com"), (".example.com", "www.example.com"), ("EXAMPLE.com", "www.example.COM"),
            ("example.com.", "example.com"), ("example.com", "www.example.com."), ("*", "anything"), ("*", "[2001::1]"),
            ("a,b", "b"), ("a, b", "b"), ("a b", "b"), ("  a ,, b,", "a"), ("*.example.com", "www.example.com"),
            ("a,*", "b"), ("192.168.*", "192.168.3.4"), ("example.com:8080", "www.example.com:8080"),
            ("example.com:80", "example.com"), ("10.0.0.1", "10.0.0.1"), ("10.0.0.1:81", "10.0.0.1:81"),
            ("10.0.0.0/8", "10.255.0.3"), ("10/8", "10.255.0.3"), ("10.0.0.7/8", "10.1.1.1"),
            ("192.168.1.0/25", "192.168.1.127"), ("0.0.0.0/0", "8.8.8.8"), ("2001:db8::1", "[2001:DB8:0::1]"),
            ("[2001:db8::1]", "[2001:db8::1]"), ("[2001:db8::1]:81", "[2001:db8::1]:81"),
            ("2001:db8::/32", "[2001:db8:ffff::1]"), ("[2001:db8::]/32", "[2001:db8:ffff::1]"),
            ("10.0.0.0/8", "[::ffff:10.1.2.3]"), ("fe80::/10", "[fe80::1%25eth0]"),
            ("bücher.example", "a.bücher.example"),
            ("*:80", "anything"), ("*a*b*", "xaxbx"), ("**.x", "y.x"),
        ])
    func leavesOut(list: String, place: String) throws {
        #expect(try isExcluded(place, noProxy: list))
    }

    // PROXY-8
    @Test(
        "no_proxy does not exclude",
        arguments: [
            ("", "example.com"), ("example.com", "badexample.com"), ("example.com", "example.com.evil"),
            ("www.example.com", "example.com"), ("*.example.com", "example.com"), ("*.example.com", "xexample.com"),
            ("example.com:8080", "example.com"), ("example.com:0", "example.com"), ("example.com:x", "example.com"),
            ("example.com:80:80", "example.com"), ("10.0.0.1", "10.0.0.11"), ("10.0.0.1", "110.0.0.1"),
            ("0.0.1", "10.0.0.1"), (".0.0.1", "10.0.0.1"), ("10.0.0.0/33", "10.0.0.1"), ("10.0.0.0/-1", "10.0.0.1"),
            ("10.0.0.0/", "10.0.0.1"), ("10.0.0.0/8/8", "10.0.0.1"), ("192.168.1.0/25", "192.168.1.128"),
            ("10.0.0.0/8", "10.example"), ("::/0", "8.8.8.8"), ("0.0.0.0/0", "[2001::1]"), ("/", "a"), ("/8", "a"),
            (".", "a"), ("..", "a"), (":", "a"), ("[", "a"), ("[]", "a"), ("http://a", "a"), ("a/b", "a"),
            ("a;b", "a"), ("*a*b", "xaxbx"), ("2001:db8::/32", "[2001:db9::1]"), ("1.2.3.4.5/8", "1.2.3.4"),
            ("a:65536", "a"), ("*:99999", "a"), ("10.0.0.0/8:80100", "10.0.0.1"),
        ])
    func doesNotLeaveOut(list: String, place: String) throws {
        #expect(try !isExcluded(place, noProxy: list))
    }

    // PROXY-3
    @Test(
        "the exceptions of a dictionary",
        arguments: [
            (["*.local"], "printer.local", true), (["*.local"], "a.b.local", true), (["*.local"], "local", false),
            (["*.local"], "xlocal", false), (["169.254/16"], "169.254.9.9", true),
            (["169.254/16"], "169.25.9.9", false),
            (["10/8"], "10.3.4.5", true), (["192.168.1.0/24"], "192.168.1.9", true),
            (["example.com"], "example.com", true),
            (["example.com"], "www.example.com", false), ([".example.com"], "www.example.com", true),
            (["a", "Example.COM"], "EXAMPLE.com", true), (["*"], "anything", true), (["*example*"], "anexamples", true),
            (["example.com:81"], "example.com:81", true), (["example.com:81"], "example.com", false),
            ([" example.com "], "example.com", true), ([""], "example.com", false), (["fd00::/8"], "[fd12::1]", true),
            (["10.0.0.?"], "10.0.0.1", false),
        ])
    func exceptions(list: [String], place: String, isExcluded: Bool) throws {
        #expect(try self.isExcluded(place, exceptions: list) == isExcluded)
    }

    // PROXY-3
    @Test(
        "hosts without a dot",
        arguments: [
            ("intranet", 1, true), ("intranet", 0, false), ("intranet", nil, false), ("intra.net", 1, false),
            ("[2001::1]", 1, false), ("10.0.0.1", 1, false), ("intranet.", 1, false),
        ] as [(String, Int?, Bool)])
    func simpleHostnames(place: String, setting: Int?, isExcluded: Bool) throws {
        #expect(try self.isExcluded(place, exceptions: [], simple: setting) == isExcluded)
    }

    // PROXY-9
    @Test(
        "the local machine is excluded, unless the list includes it",
        arguments: [
            "localhost", "LOCALHOST:8080", "localhost.", "a.localhost", "127.0.0.1", "127.255.1.2:81", "[::1]",
            "[::ffff:127.0.0.1]", "[0:0::1]:9",
        ])
    func loopback(place: String) throws {
        #expect(try isExcluded(place, noProxy: ""))
        #expect(try isExcluded(place, exceptions: []))
        #expect(try !isExcluded(place, noProxy: "a,<-loopback>"))
        #expect(try !isExcluded(place, exceptions: ["<-loopback>"]))
        #expect(try isExcluded(place, noProxy: "<-loopback>,*"))
    }

    // PROXY-9
    @Test(
        "hosts that resemble the local machine",
        arguments: [
            "localhost.example", "xlocalhost", "128.0.0.1", "127.example", "[::2]", "[::]", "0.0.0.0", "[1::1]",
        ])
    func notLoopback(place: String) throws {
        #expect(try !isExcluded(place, noProxy: ""))
    }

    @Test("a pattern with many stars is matched quickly") func manyStars() throws {
        let pattern = String(repeating: "*a", count: 20_000) + "b"
        #expect(try !isExcluded(String(repeating: "a", count: 20_000), noProxy: pattern))
    }
}
