import LoadingSemantics

/// A jar behind a reference, because `#expect` cannot mutate a value.
final class JarReference {
    private var jar: CookieJar

    init(
        suffixes: PublicSuffixes = .topLevelDomains, limits: CookieLimits = CookieLimits()
    ) {
        jar = CookieJar(suffixes: suffixes, limits: limits)
    }

    var count: Int { jar.count }
    var isEmpty: Bool { jar.isEmpty }

    func receive(
        _ field: String, from request: CookieRequest, policy: CookieAcceptPolicy = .always, at now: Double
    ) -> CookieOutcome {
        jar.receive(field, from: request, policy: policy, at: now)
    }

    func store(_ cookie: Cookie, from request: CookieRequest, at now: Double) -> CookieOutcome {
        jar.store(cookie, from: request, at: now)
    }

    func insert(_ cookie: Cookie, at now: Double) -> CookieOutcome { jar.insert(cookie, at: now) }
    func cookies(for request: CookieRequest, at now: Double) -> [Cookie] { jar.cookies(for: request, at: now) }
    func excludedCookies(
        for request: CookieRequest, at now: Double
    ) -> [(cookie: Cookie, exclusion: CookieExclusion)] { jar.excludedCookies(for: request, at: now) }
    func all(at now: Double) -> [Cookie] { jar.all(at: now) }
    func remove(_ identity: CookieIdentity) -> Bool { jar.remove(identity) }
    func removeAll(where condition: (Cookie) -> Bool) -> [CookieIdentity] { jar.removeAll(where: condition) }
    func removeExpired(at now: Double) -> [CookieIdentity] { jar.removeExpired(at: now) }
}
