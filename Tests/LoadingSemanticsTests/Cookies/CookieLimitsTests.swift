import LoadingSemantics
import Testing

/// The capacity of a jar, and the order of eviction (RFC 6265bis §5.7, §6.1).
@Suite struct CookieLimitsTests {
    private func evicted(_ outcome: CookieOutcome) -> [String]? {
        if case .stored(_, let evicted) = outcome { evicted.map(\.name).sorted() } else { nil }
    }

    private func names(_ jar: JarReference, at now: Double) -> [String] { jar.all(at: now).map(\.name).sorted() }

    // COOK-20
    @Test("The cookies of a site are evicted in the order of the draft: ended, without Secure, least used")
    func siteOrder() throws {
        let jar = JarReference(limits: CookieLimits(site: 6, total: 100))
        let url = "https://example.com/"
        let request = CookieRequest(try HTTPURL(url))
        for field in [
            "s1=1; Secure", "ended=1; Max-Age=1", "n1=1; Path=/n1", "n2=1; Path=/n2", "s2=1; Secure", "n3=1; Path=/n3",
        ] {
            #expect(evicted(jar.receive(field, from: request, at: 0)) == [])
        }
        // Removing the expired cookie suffices.
        #expect(evicted(jar.receive("n4=1; Path=/n4", from: request, at: 5)) == ["ended"])
        // n1 is used, so n2 is the least used of those without Secure.
        _ = jar.cookies(for: CookieRequest(try HTTPURL(url + "n1")), at: 5)
        #expect(evicted(jar.receive("n5=1; Path=/n5", from: request, at: 5)) == ["n2"])
        for number in 6...20 { _ = jar.receive("n\(number)=1; Secure", from: request, at: 5) }
        // Secure cookies are evicted last.
        #expect(!names(jar, at: 5).contains("n1"))
        #expect(jar.count == 6)
        // A replacement needs no eviction.
        #expect(evicted(jar.receive("n20=2; Secure", from: request, at: 5)) == [])
    }

    // COOK-20: made-up host names do not increase the limit.
    @Test("The limit of a site includes its subdomains and does not affect other sites")
    func siteLimit() throws {
        let jar = JarReference()
        let good = CookieRequest(try HTTPURL("https://good.example/"))
        #expect(evicted(jar.receive("a=b; Secure", from: good, at: 0)) == [])
        for number in 0..<5_000 {
            let request = CookieRequest(try HTTPURL("http://h\(number % 7919).evil.example/\(number)/"))
            _ = jar.receive("n\(number)=1", from: request, at: Double(number))
            #expect(jar.count <= 181)
        }
        #expect(jar.cookies(for: good, at: 20_000).map(\.name) == ["a"])
        #expect(jar.count > 150)
    }

    // COOK-20
    @Test("A site may have 150 cookies, all sites together 3000")
    func least() throws {
        var jar = JarReference()
        let request = CookieRequest(try HTTPURL("http://example.com/"))
        for number in 0..<180 { #expect(evicted(jar.receive("\(number)=1", from: request, at: 0)) == []) }
        #expect(evicted(jar.receive("x=1", from: request, at: 0))?.count == 30)
        #expect(jar.count == 151)
        jar = JarReference()
        for number in 0..<3300 {
            let request = CookieRequest(try HTTPURL("http://s\(number).example/"))
            #expect(evicted(jar.receive("a=1", from: request, at: 0)) == [])
        }
        let gone = jar.receive("a=1", from: request, at: 0)
        #expect(evicted(gone)?.count == 300)
        #expect(jar.count == 3001)
        // The least recently used ones are gone.
        #expect(jar.cookies(for: CookieRequest(try HTTPURL("http://s299.example/")), at: 0).isEmpty)
        #expect(jar.cookies(for: CookieRequest(try HTTPURL("http://s300.example/")), at: 0).count == 1)
    }

    // COOK-20: the jar is bounded, whatever hosts send.
    @Test("Many cookies of many hosts stay within the limits")
    func flood() throws {
        let jar = JarReference(limits: CookieLimits(site: 20, total: 200))
        let used = CookieRequest(try HTTPURL("https://used.example/"))
        #expect(evicted(jar.receive("a=b", from: used, at: 0)) == [])
        for number in 0..<20_000 {
            let request = CookieRequest(
                try HTTPURL("http://evil\(number).example/"), partition: number % 3 == 0 ? "\(number)" : nil)
            _ = jar.receive("a=\(number); Max-Age=\(number % 100)", from: request, at: Double(number))
            if number % 50 == 0 { #expect(jar.cookies(for: used, at: Double(number)).count == 1) }
            #expect(jar.count <= 200)
        }
        // Used cookies stay.
        #expect(jar.cookies(for: used, at: 20_000).count == 1)
    }

    // COOK-20: what another process has stored is read anew
    @Test("A jar that is read anew keeps the order of use and of creation")
    func orderOfUse() throws {
        var jar = CookieJar(limits: CookieLimits(site: 4, total: 100))
        let request = CookieRequest(try HTTPURL("https://example.com/"))
        for name in ["used", "b", "c", "session"] {
            _ = jar.receive("\(name)=1" + (name == "session" ? "" : "; Max-Age=60"), from: request, at: 0)
        }
        let all = jar.all(at: 0)
        _ = jar.cookies(for: CookieRequest(try HTTPURL("https://example.com/")), at: 0)
        _ = jar.receive("b=2; Max-Age=60", from: request, at: 0)
        _ = jar.receive("used=2; Max-Age=60", from: request, at: 0)
        // The file has them in another order.
        let outcomes = jar.replaceExpiring(with: all.filter { $0.name != "session" }.reversed(), at: 0)
        #expect(outcomes.map(evicted) == [[], [], []])
        #expect(jar.all(at: 0).map(\.name) == ["used", "b", "c", "session"])
        // "c" was used before the session cookie, and that one before the others.
        let first = jar.receive("d=1", from: request, at: 0)
        #expect(evicted(first) == ["c"])
        let second = jar.receive("e=1", from: request, at: 0)
        #expect(evicted(second) == ["session"])
    }

    @Test("Evictions are reported, so that a copy can follow", arguments: 0..<20 as Range<UInt64>)
    func copies(seed: UInt64) throws {
        var random = SeededNumbers(seed: seed)
        let jar = JarReference(limits: CookieLimits(site: 5, total: 12))
        var copy: [CookieIdentity: Cookie] = [:]
        let forget = { (identity: CookieIdentity) in copy.removeValue(forKey: identity) != nil }
        for step in 0..<500 {
            let now = Double(step)
            let request = CookieRequest(
                try HTTPURL("https://h\(random.below(3)).s\(random.below(6)).example/"),
                partition: random.below(4) == 0 ? "p" : nil)
            let secure = random.below(2) == 0 ? "; Secure" : ""
            let field = "n\(random.below(8))=\(step)\(secure); Max-Age=\(random.below(60))"
            switch jar.receive(field, from: request, at: now) {
            case .stored(let cookie, let evicted):
                for identity in evicted { #expect(forget(identity)) }
                copy[cookie.identity] = cookie
            case .removed(let identity): #expect(forget(identity))
            case .nothing, .refused: break
            }
            #expect(copy.count == jar.count)
        }
        for identity in jar.removeAll(where: { _ in true }) { #expect(forget(identity)) }
        #expect(copy.isEmpty)
        #expect(jar.count == 0)
    }

    @Test(
        "The smallest limits hold too",
        arguments: [
            (0, 0, 1, 1), (1, 1, 1, 1), (2, 1, 2, 1), (1, 2, 1, 2), (-5, .max, 1, .max),
        ])
    func smallest(site: Int, total: Int, mostOfSite: Int, most: Int) throws {
        let limits = CookieLimits(site: site, total: total)
        #expect(limits.site == mostOfSite && limits.total == most)
        let jar = JarReference(limits: limits)
        for number in 0..<100 {
            let request = CookieRequest(try HTTPURL("http://s\(number % 5).example/"))
            #expect(evicted(jar.receive("n\(number)=1", from: request, at: 0)) != nil)
            #expect(jar.count <= limits.total)
            #expect(jar.count <= 5 * limits.site)
        }
    }
}
