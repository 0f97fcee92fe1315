import LoadingSemantics

/// A jar, a copy of what it says it holds, and the promises that both are held to.
struct CookieRun {
    private static let addresses = [
        "://example.com/", "://www.example.com/a/b/c", "://a.b.github.io/x", "://localhost/", "://1.2.3.4/x/y",
        "://[::1]/", "://com./", "://github.io/a/",
    ]
    private static let limits = CookieLimits(site: 6, total: 15)

    private var jar = CookieJar(suffixes: PublicSuffixes { $0 == "github.io" }, limits: limits)
    private var copy: [CookieIdentity: Cookie] = [:]
    private var now = 1_600_000_000.0

    mutating func step(_ choice: UInt8, _ bytes: Slice<UnsafeBufferPointer<UInt8>>) {
        let scheme = choice & 0x10 == 0 ? "http" : "https"
        guard let url = try? HTTPURL(scheme + Self.addresses[Int(choice & 7)]) else {
            preconditionFailure("an address is none")
        }
        let document: CookieRequest.Document = choice & 0x20 == 0 ? .none : .other
        let request = CookieRequest(
            url, document: document, isTopLevelNavigation: choice & 0x40 != 0, partition: choice & 8 == 0 ? nil : "p")
        now += Double(choice & 3)
        if choice & 0x80 == 0 {
            receive(String(decoding: bytes, as: UTF8.self), from: request)
        } else {
            lookUp(request)
        }
        precondition(jar.count <= Self.limits.total, "more than there is room for")
        precondition(jar.count == copy.count, "the copy does not follow")
    }

    mutating func finish() {
        let all = jar.all(at: now)
        precondition(all.allSatisfy { copy[$0.identity] == $0 }, "the copy holds something else")
        let removed = jar.removeAll { _ in true }
        precondition(Set(removed) == Set(copy.keys), "not all were reported")
        precondition(jar.isEmpty && jar.count == 0, "something is left")
    }

    private mutating func receive(_ field: String, from request: CookieRequest) {
        _ = CookieDate.parse(field)
        precondition(
            CombinedSetCookies.split(field).joined(separator: ",").utf8.elementsEqual(field.utf8), "a part was lost")
        switch jar.receive(field, from: request, at: now) {
        case .stored(let cookie, let evicted):
            for identity in evicted {
                precondition(copy.removeValue(forKey: identity) != nil, "evicted, but never stored")
            }
            copy[cookie.identity] = cookie
            check(cookie, of: request)
        case .removed(let identity):
            precondition(copy.removeValue(forKey: identity) != nil, "removed, but never stored")
        case .nothing, .refused:
            break
        }
    }

    private func check(_ cookie: Cookie, of request: CookieRequest) {
        let host = request.url.host
        precondition(CookieDomain.matches(host: host, domain: cookie.domain), "for another host")
        precondition(cookie.isHostOnly || cookie.domain.contains("."), "for all of a top-level domain")
        precondition(cookie.isHostOnly || cookie.domain != "github.io", "for all of a public suffix")
        precondition(request.url.scheme.isSecure || !cookie.isSecure, "secure, but everybody knows it")
        precondition(cookie.name.utf8.count + cookie.value.utf8.count <= 4096, "too long")
        precondition(cookie.path.utf8.first == UInt8(ascii: "/"), "a path without a slash")
        precondition(
            cookie.expires.map { $0 > now && $0 <= now + TimeLimits.standard.longestCookieLifetime } ?? true,
            "a strange end")
        if let prefix = CookiePrefix(of: cookie.name) {
            precondition(prefix.isSatisfied(by: cookie), "a promise is broken")
        }
        guard let field = Cookie.field([cookie]) else { preconditionFailure("nothing is sent") }
        precondition(!field.utf8.contains { $0 == 0x3B || $0 < 0x20 && $0 != 0x09 }, "it ends its field")
        precondition(Cookie.field([cookie, cookie]) == field + "; " + field, "two are not two")
        precondition(!cookie.name.isEmpty, "a cookie without a name")
        guard let again = try? SetCookie(field) else { preconditionFailure("it cannot be read again") }
        precondition(again.name == cookie.name && again.value == cookie.value, "it is read as another")
    }

    private mutating func lookUp(_ request: CookieRequest) {
        let found = jar.cookies(for: request, at: now)
        for cookie in found {
            precondition(copy[cookie.identity] == cookie, "a cookie that was never stored")
            precondition(CookieDomain.matches(host: request.url.host, domain: cookie.domain), "sent to another host")
            precondition(!cookie.isHostOnly || request.url.host == cookie.domain, "sent to another host")
            precondition(CookiePath.matches(request.path, cookie.path), "sent to another path")
            precondition(request.url.scheme.isSecure || !cookie.isSecure, "sent for everybody to read")
            precondition(cookie.partition == request.partition, "sent from another jar")
            precondition(!cookie.isExpired(at: now), "sent after its end")
        }
        for (first, second) in zip(found, found.dropFirst()) {
            precondition(first.path.utf8.count >= second.path.utf8.count, "in another order")
        }
    }
}
