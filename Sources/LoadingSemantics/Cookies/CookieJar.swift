/// A cookie store, and the rules for storing and retrieving (RFC 6265bis §5.7, §5.8).
///
/// A value without a clock: callers pass the time. Limits bound the number of cookies. Cookies are grouped by site, so
/// the cost of an operation does not depend on the cookies of other sites.
package struct CookieJar: Sendable {
    /// The group of the cookies of one site.
    private struct SiteKey: Hashable {
        var partition: String?
        var site: String
    }

    /// A cookie behind a reference, so that entries are small: searches traverse them, and `Cookie` has a dozen fields.
    private final class StoredCookie: Sendable {
        let cookie: Cookie
        /// Equal for cookies of one identity.
        let fingerprint: UInt64
        /// Creation order, for cookies with equal creation times.
        let order: UInt64

        init(_ cookie: Cookie, fingerprint: UInt64, order: UInt64) {
            self.cookie = cookie
            self.fingerprint = fingerprint
            self.order = order
        }
    }

    private struct Entry: Sendable {
        let stored: StoredCookie
        /// Order of storing and sending. A count, because the wall clock may jump.
        var lastUse: UInt64

        func isExpired(at now: Double) -> Bool { stored.cookie.isExpired(at: now) }
    }

    private typealias Sites = [SiteKey: [Entry]]

    private let suffixes: PublicSuffixes
    private let limits: CookieLimits
    private var sites: Sites = [:]
    private var useCount: UInt64 = 0
    /// Includes expired cookies that were not looked up since.
    package private(set) var count = 0

    package init(suffixes: PublicSuffixes = .topLevelDomains, limits: CookieLimits = CookieLimits()) {
        self.suffixes = suffixes
        self.limits = limits
    }

    package var isEmpty: Bool { sites.isEmpty }

    /// Parses a `Set-Cookie` field and stores or removes the cookie, if the response may.
    package mutating func receive(
        _ field: String, from request: CookieRequest, policy: CookieAcceptPolicy = .always, at now: Double
    ) -> CookieOutcome {
        do throws(CookieRefusal) {
            let cookie = try Cookie(SetCookie(field), from: request, at: now)
            return store(cookie, from: request, policy: policy, at: now)
        } catch {
            return .refused(error)
        }
    }

    /// Stores a cookie of a response, if the response may set it.
    package mutating func store(
        _ cookie: Cookie, from request: CookieRequest, policy: CookieAcceptPolicy = .always, at now: Double
    ) -> CookieOutcome {
        do throws(CookieRefusal) {
            guard policy.accepts(request) else { throw .policy }
            let site = suffixes.site(of: request.url.host)
            let key = SiteKey(partition: request.partition, site: site.name)
            return put(try accepted(cookie, from: request, of: site, at: key, now: now), at: key, now: now)
        } catch {
            return .refused(error)
        }
    }

    /// Stores a cookie of the application. Any cookie that can be sent is accepted.
    package mutating func insert(_ cookie: Cookie, at now: Double) -> CookieOutcome {
        do throws(CookieRefusal) {
            try checkText(of: cookie)
        } catch {
            return .refused(error)
        }
        return put(cookie, at: key(of: cookie.identity), now: now)
    }

    /// The cookies of a request: longest path first, then oldest first (COOK-16).
    package mutating func cookies(for request: CookieRequest, at now: Double) -> [Cookie] {
        guard let (index, target) = cookies(inSiteOf: request) else { return [] }
        let entries = sites.values[index]
        let found = entries.indices.filter { entries[$0].stored.cookie.exclusion(from: target, at: now) == nil }
            .sorted { Self.isSentBefore(entries[$0].stored, entries[$1].stored) }
        let cookies = found.map { entries[$0].stored.cookie }
        for position in found { sites.values[index][position].lastUse = nextUse() }
        return cookies
    }

    /// The cookies of the request's site that the request does not carry, oldest first, and why.
    package func excludedCookies(
        for request: CookieRequest, at now: Double
    ) -> [(cookie: Cookie, exclusion: CookieExclusion)] {
        guard let (index, target) = cookies(inSiteOf: request) else { return [] }
        return sites.values[index].sorted { Self.isOlder($0.stored, $1.stored) }.compactMap { entry in
            let cookie = entry.stored.cookie
            return cookie.exclusion(from: target, at: now).map { (cookie, $0) }
        }
    }

    /// Where the cookies of the request's site are, and what selects among them; nil if there are none.
    private func cookies(inSiteOf request: CookieRequest) -> (index: Sites.Index, target: CookieTarget)? {
        if sites.isEmpty { return nil }
        let site = suffixes.site(of: request.url.host)
        let key = SiteKey(partition: request.partition, site: site.name)
        return sites.index(forKey: key).map { ($0, CookieTarget(request, by: suffixes, isSuffix: site.isSuffix)) }
    }

    /// All unexpired cookies, oldest first.
    package func all(at now: Double) -> [Cookie] {
        sites.values.joined().filter { !$0.isExpired(at: now) }
            .sorted { Self.isOlder($0.stored, $1.stored) }
            .map(\.stored.cookie)
    }

    /// Removes the cookie with that identity. Returns false if there is none.
    package mutating func remove(_ identity: CookieIdentity) -> Bool {
        guard let index = sites.index(forKey: key(of: identity)),
            let position = position(of: identity, fingerprint: identity.fingerprint, at: index)
        else { return false }
        remove(position, at: index)
        return true
    }

    /// Removes all cookies that satisfy the condition. Returns their identities.
    package mutating func removeAll(where condition: (Cookie) -> Bool) -> [CookieIdentity] {
        take { condition($0.stored.cookie) }
    }

    /// Replaces the cookies that expire with those of a file. The ones that stay keep their places in the order of use,
    /// which decides about eviction, and in that of creation.
    ///
    /// - Returns: The outcome of each cookie of the file.
    package mutating func replaceExpiring(with cookies: [Cookie], at now: Double) -> [CookieOutcome] {
        var known: [CookieIdentity: Entry] = [:]
        for entry in sites.values.joined() where entry.stored.cookie.expires != nil {
            known[entry.stored.cookie.identity] = entry
        }
        _ = removeAll { $0.expires != nil }
        var outcomes: [CookieOutcome] = []
        outcomes.reserveCapacity(cookies.count)
        for cookie in cookies {
            outcomes.append(insert(cookie, at: now))
            if let entry = known[cookie.identity] { restorePlaces(of: entry) }
        }
        return outcomes
    }

    private mutating func restorePlaces(of old: Entry) {
        let identity = old.stored.cookie.identity
        guard let index = sites.index(forKey: key(of: identity)),
            let position = position(of: identity, fingerprint: old.stored.fingerprint, at: index)
        else { return }
        let new = sites.values[index][position].stored
        sites.values[index][position] = Entry(
            stored: StoredCookie(new.cookie, fingerprint: new.fingerprint, order: old.stored.order),
            lastUse: old.lastUse)
    }

    /// Removes expired cookies.
    package mutating func removeExpired(at now: Double) -> [CookieIdentity] { removeAll { $0.isExpired(at: now) } }
}

extension CookieJar {
    /// The cookie as it is stored (§5.7, from step 9).
    private func accepted(
        _ cookie: Cookie, from request: CookieRequest, of site: PublicSuffixes.Site, at key: SiteKey, now: Double
    ) throws(CookieRefusal) -> Cookie {
        var cookie = cookie
        let host = request.url.host
        cookie.partition = request.partition
        try checkText(of: cookie)
        if cookie.name.utf8.count + cookie.value.utf8.count > SetCookie.maximumPairLength
            || cookie.path.utf8.count > Cookie.maximumPlaceLength
            || cookie.domain.utf8.count > Cookie.maximumPlaceLength
        {
            throw .tooLong
        }
        if host == cookie.domain {
            // A public suffix or an IP address may set only host-only cookies (COOK-27).
            if site.isSuffix || CookieDomain.isAddress(host) { cookie.isHostOnly = true }
        } else {
            if cookie.isHostOnly || !CookieDomain.matches(host: host, domain: cookie.domain) { throw .domainMismatch }
            // A domain shorter than the site is a public suffix or a parent of one.
            if cookie.domain.utf8.count < site.name.utf8.count { throw .publicSuffix }
        }
        if !request.url.scheme.isSecure {
            if cookie.isSecure { throw .insecureOrigin }
            if hidesSecureCookie(cookie, at: key, now: now) { throw .hidesSecureCookie }
        }
        if cookie.sameSite == .lax || cookie.sameSite == .strict,
            !request.isTopLevelNavigation, !request.isSameSite(by: suffixes)
        {
            throw .crossSite
        }
        if let prefix = CookiePrefix(of: cookie.name), !prefix.isSatisfied(by: cookie) { throw .prefixViolation }
        return cookie
    }

    /// Rejects characters that would end the `Cookie` field or start another cookie in it.
    private func checkText(of cookie: Cookie) throws(CookieRefusal) {
        if cookie.name.isEmpty { throw .missingName }
        if !CookieText.isSendable(cookie.name) || !CookieText.isSendable(cookie.value) { throw .badCharacter }
    }

    /// Whether a cookie without `Secure` would be sent together with, or instead of, a secure cookie of the same name
    /// (step 16).
    private func hidesSecureCookie(_ cookie: Cookie, at key: SiteKey, now: Double) -> Bool {
        (sites[key] ?? []).contains { entry in
            let other = entry.stored
            return other.cookie.isSecure && CookieText.areSame(other.cookie.name, cookie.name)
                && (CookieDomain.matches(host: other.cookie.domain, domain: cookie.domain)
                    || CookieDomain.matches(host: cookie.domain, domain: other.cookie.domain))
                && CookiePath.matches(cookie.path, other.cookie.path) && !other.cookie.isExpired(at: now)
        }
    }

    private mutating func put(_ cookie: Cookie, at key: SiteKey, now: Double) -> CookieOutcome {
        let identity = cookie.identity
        let fingerprint = identity.fingerprint
        if let index = sites.index(forKey: key) {
            if let position = position(of: identity, fingerprint: fingerprint, at: index) {
                if cookie.isExpired(at: now) {
                    remove(position, at: index)
                    return .removed(identity)
                }
                return .stored(
                    replace(position, at: index, with: cookie, fingerprint: fingerprint, now: now), evicted: [])
            }
            if cookie.isExpired(at: now) { return .nothing(identity) }
            if sites.values[index].count < limits.site, count < limits.total {
                sites.values[index].append(newEntry(cookie, fingerprint: fingerprint))
                count += 1
                return .stored(cookie, evicted: [])
            }
        }
        if cookie.isExpired(at: now) { return .nothing(identity) }
        var evicted: [CookieIdentity] = []
        if sites[key].map({ $0.count >= limits.site }) ?? false { evicted += evict(at: key, now: now) }
        if count >= limits.total { evicted += evict(at: now) }
        sites[key, default: []].append(newEntry(cookie, fingerprint: fingerprint))
        count += 1
        return .stored(cookie, evicted: evicted)
    }

    private mutating func newEntry(_ cookie: Cookie, fingerprint: UInt64) -> Entry {
        let use = nextUse()
        return Entry(stored: StoredCookie(cookie, fingerprint: fingerprint, order: use), lastUse: use)
    }

    /// The new cookie keeps the creation time of the old one (step 23.3), unless that has expired.
    private mutating func replace(
        _ position: Int, at index: Sites.Index, with cookie: Cookie, fingerprint: UInt64, now: Double
    ) -> Cookie {
        let old = sites.values[index][position].stored
        if old.cookie.isExpired(at: now) {
            sites.values[index][position] = newEntry(cookie, fingerprint: fingerprint)
            return cookie
        }
        var cookie = cookie
        cookie.created = old.cookie.created
        sites.values[index][position] = Entry(
            stored: StoredCookie(cookie, fingerprint: fingerprint, order: old.order), lastUse: nextUse())
        return cookie
    }

    private func position(of identity: CookieIdentity, fingerprint: UInt64, at index: Sites.Index) -> Int? {
        sites.values[index].firstIndex { $0.stored.fingerprint == fingerprint && $0.stored.cookie.identity == identity }
    }

    private mutating func remove(_ position: Int, at index: Sites.Index) {
        sites.values[index].remove(at: position)
        if sites.values[index].isEmpty { sites.remove(at: index) }
        count -= 1
    }

    /// Evicts cookies of a site: expired ones first, then those without `Secure`, then the others, least recently used
    /// first (§5.7, "remove excess cookies").
    private mutating func evict(at key: SiteKey, now: Double) -> [CookieIdentity] {
        var entries = sites[key] ?? []
        let middle = entries.partition { !$0.isExpired(at: now) }
        var evicted = entries[..<middle]
        entries = Array(entries[middle...])
        if entries.count >= limits.site {
            entries.sort { left, right in
                let isSecure = right.stored.cookie.isSecure
                return left.stored.cookie.isSecure == isSecure ? left.lastUse < right.lastUse : isSecure
            }
            evicted += entries[..<(entries.count - limits.siteAfterwards)]
            entries.removeFirst(entries.count - limits.siteAfterwards)
        }
        sites[key] = entries.isEmpty ? nil : entries
        count -= evicted.count
        return evicted.map(\.stored.cookie.identity)
    }

    /// Evicts cookies of the jar: expired ones first, then the least recently used.
    private mutating func evict(at now: Double) -> [CookieIdentity] {
        let evicted = removeExpired(at: now)
        if count < limits.total { return evicted }
        let uses = sites.values.joined().map(\.lastUse).sorted()
        let lastLeaving = uses[uses.count - limits.totalAfterwards - 1]
        return evicted + take { $0.lastUse <= lastLeaving }
    }

    private mutating func take(where isLeaving: (Entry) -> Bool) -> [CookieIdentity] {
        var taken: [CookieIdentity] = []
        var changed: [(key: SiteKey, rest: [Entry])] = []
        for (key, entries) in sites {
            // Most sites lose no cookie, so no array is built for them.
            guard let first = entries.firstIndex(where: isLeaving) else { continue }
            var rest = Array(entries[..<first])
            for entry in entries[first...] {
                if isLeaving(entry) { taken.append(entry.stored.cookie.identity) } else { rest.append(entry) }
            }
            changed.append((key, rest))
        }
        for (key, rest) in changed { sites[key] = rest.isEmpty ? nil : rest }
        count -= taken.count
        return taken
    }

    private func key(of identity: CookieIdentity) -> SiteKey {
        SiteKey(partition: identity.partition, site: suffixes.site(of: identity.domain).name)
    }

    private mutating func nextUse() -> UInt64 {
        useCount += 1
        return useCount
    }

    private static func isSentBefore(_ left: StoredCookie, _ right: StoredCookie) -> Bool {
        let (leftLength, rightLength) = (left.cookie.path.utf8.count, right.cookie.path.utf8.count)
        return leftLength == rightLength ? isOlder(left, right) : leftLength > rightLength
    }

    private static func isOlder(_ left: StoredCookie, _ right: StoredCookie) -> Bool {
        left.cookie.created == right.cookie.created
            ? left.order < right.order : left.cookie.created < right.cookie.created
    }
}

/// The capacity of a cookie jar (RFC 6265bis §6.1).
///
/// Eviction removes about a tenth at once, so that it does not run for every cookie.
package struct CookieLimits: Sendable, Equatable {
    /// The number of cookies of one site, which includes all subdomains, so that a server cannot evade the limit with
    /// made-up host names.
    package let site: Int
    /// The total number of cookies.
    package let total: Int

    package init(site: Int = 180, total: Int = 3300) {
        self.site = max(site, 1)
        self.total = max(total, 1)
    }

    /// The number of cookies of a site after eviction.
    package var siteAfterwards: Int { site - max(site / 6, 1) }
    /// The total number of cookies after eviction.
    package var totalAfterwards: Int { total - max(total / 11, 1) }
}
