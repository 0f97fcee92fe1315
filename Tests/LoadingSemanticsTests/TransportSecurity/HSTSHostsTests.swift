import LoadingSemantics
import Testing

// TLS-7: RFC 6797 §8
@Suite struct HSTSHostsTests {
    private func record(_ host: String, _ expires: Int64, _ includesSubdomains: Bool = false) -> HSTSRecord {
        HSTSRecord(host: host, expires: expires, includesSubdomains: includesSubdomains)
    }

    // §8.1
    @Test("A host is stored for its max-age, counted from the last response")
    func noting() throws {
        let hosts = HSTSFixture()
        #expect(
            try hosts.note("max-age=100", "https://a.example/") == .stored(record("a.example", 1_000_100), evicted: []))
        #expect(hosts.covers("a.example"))
        hosts.now += 99
        #expect(hosts.covers("a.example"))
        #expect(
            try hosts.note("max-age=100", "https://a.example/x") == .stored(record("a.example", 1_000_199), evicted: [])
        )
        hosts.now += 99
        #expect(hosts.covers("a.example"))
        hosts.now += 1
        #expect(!hosts.covers("a.example"))
        #expect(hosts.known == [])
        #expect(hosts.count == 1)
    }

    // §8.1, §8.6
    @Test("The latest field replaces the previous one, and a response without one changes nothing")
    func replacing() throws {
        let hosts = HSTSFixture()
        _ = try hosts.note("max-age=100; includeSubDomains", "https://a.example/")
        #expect(hosts.covers("b.a.example"))
        #expect(try hosts.note(nil, "https://a.example/") == .nothing)
        #expect(hosts.covers("b.a.example"))
        #expect(
            try hosts.note("max-age=50", "https://a.example/") == .stored(record("a.example", 1_000_050), evicted: []))
        #expect(!hosts.covers("b.a.example"))
        #expect(hosts.covers("a.example"))
    }

    // §8.1
    @Test("Fields are accepted only over secure connections without errors")
    func secureOnly() throws {
        let hosts = HSTSFixture()
        #expect(try hosts.note("max-age=1", "http://a.example/") == .refused(.insecure))
        #expect(try hosts.note("max-age=1", "ws://a.example/") == .refused(.insecure))
        #expect(try hosts.note("max-age=1", "https://a.example/", isTrusted: false) == .refused(.untrusted))
        #expect(hosts.count == 0)
        #expect(try hosts.note("max-age=9", "wss://a.example/") == .stored(record("a.example", 1_000_009), evicted: []))
        // Nor with max-age=0, which would be an attack.
        #expect(try hosts.note("max-age=0", "http://a.example/") == .refused(.insecure))
        #expect(try hosts.note("max-age=0", "https://a.example/", isTrusted: false) == .refused(.untrusted))
        #expect(hosts.covers("a.example"))
    }

    // §8.1.1
    @Test(
        "An IP address is never stored",
        arguments: [
            "https://192.0.2.1/", "https://[2001:db8::1]/", "https://[fe80::1%25eth0]/", "https://127.0.0.1:8443/",
        ])
    func addresses(address: String) throws {
        let hosts = HSTSFixture()
        #expect(try hosts.note("max-age=100; includeSubDomains", address) == .refused(.address))
        #expect(hosts.count == 0)
        #expect(hosts.upgrade("http" + address.dropFirst(5)) == nil)
    }

    @Test("An invalid host name is not stored", arguments: ["a..example", ".example", ".", "a.example.."])
    func badNames(host: String) throws {
        let hosts = HSTSFixture()
        #expect(try hosts.note("max-age=100", "https://\(host)/") == .refused(.badName))
        #expect(!hosts.covers(host))
        let long = String(repeating: "a.", count: 126) + "ab"
        #expect(try hosts.note("max-age=100", "https://\(long)/") == .refused(.badName))
        let longest = String(repeating: "a.", count: 126) + "b"
        #expect(try hosts.note("max-age=100; includeSubDomains", "https://\(longest)/") != .refused(.badName))
        #expect(hosts.covers(longest))
    }

    // §6.1
    @Test("A malformed field changes nothing")
    func malformed() throws {
        let hosts = HSTSFixture()
        _ = try hosts.note("max-age=100", "https://a.example/")
        #expect(try hosts.note("max-age=0; max-age=0", "https://a.example/") == .refused(.malformed))
        #expect(hosts.covers("a.example"))
    }

    // §6.1.1
    @Test("max-age=0 removes the host, but not its parent domains")
    func forgetting() throws {
        let hosts = HSTSFixture()
        #expect(try hosts.note("max-age=0", "https://a.example/") == .nothing)
        _ = try hosts.note("max-age=100; includeSubDomains", "https://a.example/")
        _ = try hosts.note("max-age=100", "https://b.a.example/")
        #expect(try hosts.note("max-age=0; includeSubDomains", "https://b.a.example/") == .removed("b.a.example"))
        #expect(hosts.covers("b.a.example"))
        #expect(try hosts.note("max-age=0", "https://a.example/") == .removed("a.example"))
        #expect(!hosts.covers("b.a.example"))
        #expect(hosts.count == 0)
    }

    // §8.2
    @Test(
        "A host is covered by its own record, or by that of a parent with includeSubDomains",
        arguments: [
            ("plain.example", true), ("sub.plain.example", false), ("example", false), ("whole.example", true),
            ("sub.whole.example", true), ("a.b.c.whole.example", true), ("xwhole.example", false),
            ("whole.example.com", false), ("plain.example.", true), ("sub.whole.example.", true), ("", false),
            ("xn--bcher-kva.example", true), ("own.whole.example", true), ("sub.own.whole.example", true),
            ("1.2.3.4", false), ("::1", false),
        ])
    func matching(host: String, isKnown: Bool) throws {
        let hosts = HSTSFixture()
        _ = try hosts.note("max-age=100", "https://plain.example/")
        _ = try hosts.note("max-age=100; includeSubDomains", "https://WHOLE.example./")
        _ = try hosts.note("max-age=100", "https://own.whole.example/")
        _ = try hosts.note("max-age=100", "https://b\u{FC}cher.example/")
        #expect(hosts.covers(host) == isKnown)
    }

    // §8.2
    @Test("An expired record does not hide that of a parent domain")
    func expiredBelow() throws {
        let hosts = HSTSFixture()
        _ = try hosts.note("max-age=100; includeSubDomains", "https://a.example/")
        _ = try hosts.note("max-age=10", "https://b.a.example/")
        hosts.now += 50
        #expect(hosts.covers("b.a.example"))
        hosts.now += 50
        #expect(!hosts.covers("b.a.example"))
    }

    // §8.3, R-22
    @Test(
        "The upgrade changes scheme and port only",
        arguments: [
            ("http://a.example/x?y#z", "https://a.example/x?y#z"), ("http://a.example", "https://a.example"),
            ("http://a.example:80/", "https://a.example/"), ("http://a.example:080", "https://a.example"),
            ("http://a.example:8080/", "https://a.example:8080/"), ("http://a.example:443/", "https://a.example:443/"),
            ("HTTP://A.Example:/X", "https://A.Example/X"), ("ws://a.example/chat", "wss://a.example/chat"),
            ("WS://a.example:80", "wss://a.example"), ("http://u:80@a.example:80/:80", "https://u:80@a.example/:80"),
            ("http://u@v@a.example:81/@:80", "https://u@v@a.example:81/@:80"),
            ("http://a.example./?q=http://b.example:80", "https://a.example./?q=http://b.example:80"),
            ("http://%61.example/%7e", "https://%61.example/%7e"), ("https://a.example:80/", nil),
            ("wss://a.example/", nil), ("http://b.example/", nil), ("ftp://a.example/", nil), ("http://", nil),
            ("http://a.example:x/", nil), ("//a.example/", nil), ("", nil),
        ] as [(String, String?)])
    func upgrading(url: String, expected: String?) throws {
        let hosts = HSTSFixture()
        _ = try hosts.note("max-age=100", "https://a.example/")
        #expect(hosts.upgrade(url) == expected)
    }

    // §12.3
    @Test(
        "Hosts below preloaded top-level domains are covered",
        arguments: [
            ("https://get.app/", "http://get.app/"), ("https://a.b.dev:8080/", "http://a.b.dev:8080/"),
            ("https://my.bank./", "http://my.bank./"), ("https://x.zip/", "http://x.zip/"), (nil, "http://a.example/"),
            // A machine with that name in a local network.
            (nil, "http://app:8080/"), (nil, "http://search/"), (nil, "http://dev./"), (nil, "http://dev.example/"),
        ] as [(String?, String)])
    func preload(expected: String?, url: String) throws {
        let hosts = HSTSFixture(preload: .topLevelDomains)
        #expect(hosts.upgrade(url) == expected)
        // A host cannot remove itself from the list.
        _ = try hosts.note("max-age=0", "https://get.app/")
        hosts.removeAll()
        #expect(hosts.upgrade(url) == expected)
        #expect(HSTSFixture().upgrade(url) == nil)
    }

    @Test("Changes are reported for the copy on disk")
    func notification() throws {
        let hosts = HSTSFixture()
        _ = try hosts.note("max-age=1600", "https://a.example/")
        // The expiry moves by at most a sixteenth, which is not worth a write.
        hosts.now += 60
        #expect(try hosts.note("max-age=1600", "https://a.example/") == .refreshed(record("a.example", 1_001_660)))
        hosts.now += 40
        #expect(try hosts.note("max-age=1600", "https://a.example/") == .refreshed(record("a.example", 1_001_700)))
        hosts.now += 1
        #expect(
            try hosts.note("max-age=1600", "https://a.example/") == .stored(record("a.example", 1_001_701), evicted: [])
        )
        // Another scope or a shorter lifetime is.
        #expect(
            try hosts.note("max-age=1600; includeSubDomains", "https://a.example/")
                == .stored(record("a.example", 1_001_701, true), evicted: []))
        #expect(
            try hosts.note("max-age=10; includeSubDomains", "https://a.example/")
                == .stored(record("a.example", 1_000_111, true), evicted: []))
        hosts.now += 10
        #expect(
            try hosts.note("max-age=10; includeSubDomains", "https://a.example/")
                == .stored(record("a.example", 1_000_121, true), evicted: []))
        hosts.now += 10
        #expect(hosts.removeExpired() == ["a.example"])
        #expect(hosts.removeExpired() == [])
    }

    @Test("Records from disk are validated")
    func restoring() throws {
        let hosts = HSTSFixture()
        #expect(hosts.insert("a.example", expires: 1_000_001) == .stored(record("a.example", 1_000_001), evicted: []))
        #expect(hosts.insert("b.example", expires: 1_000_000) == .nothing)
        #expect(
            hosts.insert("c.example", expires: .max) == .stored(record("c.example", 1_000_000 + 1 << 31), evicted: []))
        #expect(hosts.insert("d.example", expires: .min) == .nothing)
        for address in ["1.2.3.4", "::1"] { #expect(hosts.insert(address, expires: .max) == .refused(.address)) }
        for name in ["", ".", "A.example", "a.example.", "a b", "a\0b", "b\u{FC}cher.example", "a/b", ".."] {
            #expect(hosts.insert(name, expires: .max) == .refused(.badName), "\(name)")
        }
        #expect(hosts.known == ["a.example", "c.example"])
        #expect(hosts.remove("a.example"))
        #expect(!hosts.remove("a.example"))
    }

    @Test("Extreme times do not trap", arguments: [Int64.min, -1, 0, .max - 1, .max])
    func clocks(now: Int64) throws {
        let hosts = HSTSFixture()
        hosts.now = now
        _ = try hosts.note("max-age=9999999999", "https://a.example/")
        _ = try hosts.note("max-age=9999999999", "https://a.example/")
        #expect(hosts.covers("a.example") == (now != .max))
        hosts.now = .min
        _ = try hosts.note("max-age=1", "https://a.example/")
        #expect(hosts.covers("a.example"))
        hosts.now = .max
        #expect(!hosts.covers("a.example"))
        _ = try hosts.note("max-age=1", "https://a.example/")
        #expect(hosts.insert("b.example", expires: .max) == .nothing)
    }
}
