import LoadingSemantics
import Testing

/// Compares the jar with a simple model, and with random input.
@Suite struct CookieModelTests {
    /// A list with the steps of the draft, for hosts below `.example` only.
    private struct Model {
        var cookies: [Cookie] = []

        private func isBelow(_ host: String, _ domain: String) -> Bool {
            host == domain || host.hasSuffix("." + domain)
        }

        private func pathMatches(_ path: String, _ cookiePath: String) -> Bool {
            path == cookiePath || path.hasPrefix(cookiePath.hasSuffix("/") ? cookiePath : cookiePath + "/")
        }

        mutating func store(_ new: Cookie, from request: CookieRequest, at now: Double) {
            let host = request.url.host
            cookies.removeAll { $0.expires.map { $0 <= now } ?? false }
            guard new.isHostOnly ? new.domain == host : isBelow(host, new.domain) && new.domain.contains(".") else {
                return
            }
            if !request.url.scheme.isSecure {
                if new.isSecure { return }
                let isHiding = cookies.contains {
                    $0.partition == request.partition && $0.name == new.name && $0.isSecure
                        && (isBelow($0.domain, new.domain) || isBelow(new.domain, $0.domain))
                        && pathMatches(new.path, $0.path)
                }
                if isHiding { return }
            }
            var new = new
            new.partition = request.partition
            if let old = cookies.firstIndex(where: { $0.identity == new.identity }) {
                new.created = cookies[old].created
                cookies[old] = new
            } else {
                cookies.append(new)
            }
            cookies.removeAll { $0.expires.map { $0 <= now } ?? false }
        }

        func cookies(for request: CookieRequest, at now: Double) -> [Cookie] {
            let host = request.url.host
            // Stable, and the list is in creation order.
            return cookies.filter {
                $0.partition == request.partition && ($0.isHostOnly ? $0.domain == host : isBelow(host, $0.domain))
                    && pathMatches(request.path, $0.path) && (!$0.isSecure || request.url.scheme.isSecure)
                    && ($0.expires.map { $0 > now } ?? true)
            }.sorted { $0.path.utf8.count > $1.path.utf8.count }
        }
    }

    // COOK-4, COOK-5, COOK-15, COOK-16, COOK-20, COOK-24
    @Test("The jar behaves like the model", arguments: 0..<40 as Range<UInt64>)
    func agreesWithModel(seed: UInt64) throws {
        var random = SeededNumbers(seed: seed)
        let jar = JarReference()
        var model = Model()
        var now = 0.0
        let hosts = ["a.example", "b.a.example", "c.b.a.example", "d.a.example", "e.example"]
        let paths = ["/", "/x", "/x/", "/x/y", "/xy", "/x/y/z"]
        for _ in 0..<300 {
            now += Double(random.below(3))
            let address = random.pick(["http", "https"]) + "://" + random.pick(hosts) + random.pick(paths)
            let request = CookieRequest(try HTTPURL(address), partition: random.pick([nil, nil, "p"]))
            if random.below(3) == 0 {
                #expect(jar.cookies(for: request, at: now) == model.cookies(for: request, at: now))
                continue
            }
            var field = random.pick(["n", "m", "__Secure-n"]) + "=\(random.next() % 1000)"
            if random.below(2) == 0 { field += "; Domain=" + random.pick(hosts + ["example"]) }
            if random.below(2) == 0 { field += "; Path=" + random.pick(paths) }
            if random.below(2) == 0 || field.hasPrefix("_") { field += "; Secure" }
            if random.below(3) == 0 { field += "; Max-Age=\(random.below(20))" }
            let cookie = try Cookie(SetCookie(field), from: request, at: now)
            _ = jar.store(cookie, from: request, at: now)
            model.store(cookie, from: request, at: now)
        }
        #expect(jar.all(at: now).count == model.cookies.filter { $0.expires.map { $0 > now } ?? true }.count)
    }

    // COOK-20
    @Test("Any accepted field is sent as one cookie", arguments: 0..<10 as Range<UInt64>)
    func noise(seed: UInt64) throws {
        var random = SeededNumbers(seed: seed)
        let pieces = [
            "a", "=", ";", " ", "\t", ",", "__Host-", "__Secure-", "Domain=", "Path=", "Max-Age=", "Expires=",
            "SameSite=",
            "Secure", "HttpOnly", "Partitioned", ".", "/", "example", "com", "Jan", "2020", "12:30:00", "-",
            "9999999999999",
            "\"", "%", "ü", "e\u{301}", "\0", "\r\n", "\u{7F}", "\u{FFFD}", "😀", "None", "Lax", "Strict",
        ]
        let requests = try [
            "http://example.com/", "https://www.example.com/a/b", "http://1.2.3.4/", "https://[::1]/", "http://com./x",
            "https://a..b./",
        ].map { CookieRequest(try HTTPURL($0), partition: random.pick([nil, "p"])) }
        let jar = JarReference(limits: CookieLimits(site: 10, total: 20))
        for _ in 0..<1000 {
            let field: String
            if random.below(4) == 0 {
                field = String(decoding: (0..<random.below(60)).map { _ in UInt8(random.below(256)) }, as: UTF8.self)
            } else {
                field = (0..<random.below(20)).map { _ in random.pick(pieces) }.joined()
            }
            _ = CookieDate.parse(field)
            let parts = CombinedSetCookies.split(field)
            #expect(parts.joined(separator: ",").utf8.elementsEqual(field.utf8))
            let request = random.pick(requests)
            guard case .stored(let cookie, _) = jar.receive(field, from: request, at: 0) else { continue }
            #expect(jar.count <= 20)
            // COOK-1
            #expect(!cookie.name.isEmpty)
            let again = try SetCookie(try #require(Cookie.field([cookie])))
            #expect(again.name.utf8.elementsEqual(cookie.name.utf8))
            #expect(again.value.utf8.elementsEqual(cookie.value.utf8))
            #expect(cookie.expires.map { $0 > 0 && $0 <= TimeLimits.standard.longestCookieLifetime } ?? true)
        }
        for request in requests {
            let cookies = jar.cookies(for: request, at: 0)
            for (first, second) in zip(cookies, cookies.dropFirst()) {
                #expect(first.path.utf8.count >= second.path.utf8.count)
            }
        }
    }
}
