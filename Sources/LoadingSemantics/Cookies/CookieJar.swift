/// Cookies, and the rules by which responses fill the jar and requests draw from it (RFC 6265bis §5.7, §5.8).
///
/// A value without a clock: each call says what time it is. Nothing that a server sends makes it larger than its
/// limits allow. Cookies lie by site, so that neither storing nor looking up depends on how many there are of others.
package struct CookieJar: Sendable {
    /// Where the cookies of one site lie.
    private struct Place: Hashable {
        var partition: String?
        var site: String
    }

    /// A cookie behind one reference: jars are searched, and a cookie is a dozen of them.
    private final class Kept: Sendable {
        let cookie: Cookie
        /// Alike for cookies of one identity.
        let fingerprint: UInt64
        /// The order of making, for cookies that were made at one time.
        let order: UInt64

        init(_ cookie: Cookie, fingerprint: UInt64, order: UInt64) {
            self.cookie = cookie
            self.fingerprint = fingerprint
            self.order = order
        }
    }

    private struct Entry: Sendable {
        let kept: Kept
        /// When it was stored or sent last, as a count: the time of day may jump.
        var lastUse: UInt64

        func isExpired(at now: Double) -> Bool { kept.cookie.isExpired(at: now) }
    }

    private typealias Sites = [Place: [Entry]]

    private let suffixes: PublicSuffixes
    private let limits: CookieLimits
    private var sites: Sites = [:]
    private var useCount: UInt64 = 0
    /// With those that have ended and have not been looked at since.
    package private(set) var count = 0

    package init(suffixes: PublicSuffixes = .topLevelDomains, limits: CookieLimits = CookieLimits()) {
        self.suffixes = suffixes
        self.limits = limits
    }

    package var isEmpty: Bool { sites.isEmpty }

    /// Reads a `Set-Cookie` field and does what it says, if the response may.
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
            let place = Place(partition: request.partition, site: site.name)
            return put(try accepted(cookie, from: request, of: site, at: place, now: now), at: place, now: now)
        } catch {
            return .refused(error)
        }
    }

    /// Stores a cookie of the program's own: any that can be sent.
    package mutating func insert(_ cookie: Cookie, at now: Double) -> CookieOutcome {
        do throws(CookieRefusal) {
            try checkText(of: cookie)
        } catch {
            return .refused(error)
        }
        return put(cookie, at: place(of: cookie.identity), now: now)
    }

    /// The cookies that a request carries: the longest path first, then the oldest (COOK-16).
    package mutating func cookies(for request: CookieRequest, at now: Double) -> [Cookie] {
        if sites.isEmpty { return [] }
        let site = suffixes.site(of: request.url.host)
        guard let index = sites.index(forKey: Place(partition: request.partition, site: site.name)) else { return [] }
        let path = request.path
        let isSameSite = request.isSameSite(by: suffixes)
        let isLaxEnough = isSameSite || request.isTopLevelNavigation && request.isSafe
        let entries = sites.values[index]
        let found = entries.indices.filter { position in
            let kept = entries[position].kept
            return (isSameSite || kept.cookie.sameSite != .strict) && (isLaxEnough || kept.cookie.sameSite != .lax)
                && kept.cookie.isFor(request.url, path: path, isSuffix: site.isSuffix)
                && !kept.cookie.isExpired(at: now)
        }.sorted { Self.isSentBefore(entries[$0].kept, entries[$1].kept) }
        let cookies = found.map { entries[$0].kept.cookie }
        for position in found { sites.values[index][position].lastUse = nextUse() }
        return cookies
    }

    /// Every cookie that has not ended, the oldest first.
    package func all(at now: Double) -> [Cookie] {
        sites.values.joined().filter { !$0.isExpired(at: now) }
            .sorted { Self.isOlder($0.kept, $1.kept) }
            .map(\.kept.cookie)
    }

    /// Takes out the one with that identity. False if there was none.
    package mutating func remove(_ identity: CookieIdentity) -> Bool {
        guard let index = sites.index(forKey: place(of: identity)),
            let position = position(of: identity, fingerprint: identity.fingerprint, at: index)
        else { return false }
        remove(position, at: index)
        return true
    }

    /// Takes out every cookie for which the condition holds, and says which those were.
    package mutating func removeAll(where condition: (Cookie) -> Bool) -> [CookieIdentity] {
        take { condition($0.kept.cookie) }
    }

    /// Takes out those that have ended.
    package mutating func removeExpired(at now: Double) -> [CookieIdentity] { removeAll { $0.isExpired(at: now) } }
}

extension CookieJar {
    /// The cookie as it is to be stored (§5.7, from step 9 on).
    private func accepted(
        _ cookie: Cookie, from request: CookieRequest, of site: PublicSuffixes.Site, at place: Place, now: Double
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
            // A suffix may have cookies of its own, and so may an address, but not for others (COOK-27).
            if site.isSuffix || CookieDomain.isAddress(host) { cookie.isHostOnly = true }
        } else {
            if cookie.isHostOnly || !CookieDomain.matches(host: host, domain: cookie.domain) { throw .foreignDomain }
            // Shorter than the site is the suffix, or what lies above even that.
            if cookie.domain.utf8.count < site.name.utf8.count { throw .publicSuffix }
        }
        if !request.url.scheme.isSecure {
            if cookie.isSecure { throw .insecureOrigin }
            if hidesSecureCookie(cookie, at: place, now: now) { throw .hidesSecureCookie }
        }
        if cookie.sameSite == .lax || cookie.sameSite == .strict,
            !request.isTopLevelNavigation, !request.isSameSite(by: suffixes)
        {
            throw .crossSite
        }
        if let prefix = CookiePrefix(of: cookie.name), !prefix.isKept(by: cookie) { throw .brokenPrefix }
        return cookie
    }

    /// Nothing in a cookie may end the field it is sent in, or start another cookie there.
    private func checkText(of cookie: Cookie) throws(CookieRefusal) {
        if cookie.name.isEmpty { throw .nameless }
        if !CookieText.isSendable(cookie.name) || !CookieText.isSendable(cookie.value) { throw .badCharacter }
    }

    /// Whether a cookie without `Secure` would be sent along with, or in place of, a secure one of that name (step 16).
    private func hidesSecureCookie(_ cookie: Cookie, at place: Place, now: Double) -> Bool {
        (sites[place] ?? []).contains { entry in
            let other = entry.kept
            return other.cookie.isSecure && CookieText.areSame(other.cookie.name, cookie.name)
                && (CookieDomain.matches(host: other.cookie.domain, domain: cookie.domain)
                    || CookieDomain.matches(host: cookie.domain, domain: other.cookie.domain))
                && CookiePath.matches(cookie.path, other.cookie.path) && !other.cookie.isExpired(at: now)
        }
    }

    private mutating func put(_ cookie: Cookie, at place: Place, now: Double) -> CookieOutcome {
        let identity = cookie.identity
        let fingerprint = identity.fingerprint
        if let index = sites.index(forKey: place) {
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
        if sites[place].map({ $0.count >= limits.site }) ?? false { evicted += makeRoom(at: place, now: now) }
        if count >= limits.total { evicted += makeRoom(at: now) }
        sites[place, default: []].append(newEntry(cookie, fingerprint: fingerprint))
        count += 1
        return .stored(cookie, evicted: evicted)
    }

    private mutating func newEntry(_ cookie: Cookie, fingerprint: UInt64) -> Entry {
        let use = nextUse()
        return Entry(kept: Kept(cookie, fingerprint: fingerprint, order: use), lastUse: use)
    }

    /// The new one is as old as the one it replaces (step 23.3), unless that was over.
    private mutating func replace(
        _ position: Int, at index: Sites.Index, with cookie: Cookie, fingerprint: UInt64, now: Double
    ) -> Cookie {
        let old = sites.values[index][position].kept
        if old.cookie.isExpired(at: now) {
            sites.values[index][position] = newEntry(cookie, fingerprint: fingerprint)
            return cookie
        }
        var cookie = cookie
        cookie.created = old.cookie.created
        sites.values[index][position] = Entry(
            kept: Kept(cookie, fingerprint: fingerprint, order: old.order), lastUse: nextUse())
        return cookie
    }

    private func position(of identity: CookieIdentity, fingerprint: UInt64, at index: Sites.Index) -> Int? {
        sites.values[index].firstIndex { $0.kept.fingerprint == fingerprint && $0.kept.cookie.identity == identity }
    }

    private mutating func remove(_ position: Int, at index: Sites.Index) {
        sites.values[index].remove(at: position)
        if sites.values[index].isEmpty { sites.remove(at: index) }
        count -= 1
    }

    /// Makes room among a site's: those that have ended go first, then those without `Secure`, then the others, each by
    /// how long they have not been used (§5.7, "remove excess cookies").
    private mutating func makeRoom(at place: Place, now: Double) -> [CookieIdentity] {
        var entries = sites[place] ?? []
        let middle = entries.partition { !$0.isExpired(at: now) }
        var leaving = entries[..<middle]
        entries = Array(entries[middle...])
        if entries.count >= limits.site {
            entries.sort { left, right in
                let isSecure = right.kept.cookie.isSecure
                return left.kept.cookie.isSecure == isSecure ? left.lastUse < right.lastUse : isSecure
            }
            leaving += entries[..<(entries.count - limits.siteAfterwards)]
            entries.removeFirst(entries.count - limits.siteAfterwards)
        }
        sites[place] = entries.isEmpty ? nil : entries
        count -= leaving.count
        return leaving.map(\.kept.cookie.identity)
    }

    /// Makes room in the jar: those that have ended go first, then those that have not been used for longest.
    private mutating func makeRoom(at now: Double) -> [CookieIdentity] {
        let evicted = removeExpired(at: now)
        if count < limits.total { return evicted }
        let uses = sites.values.joined().map(\.lastUse).sorted()
        let lastLeaving = uses[uses.count - limits.totalAfterwards - 1]
        return evicted + take { $0.lastUse <= lastLeaving }
    }

    private mutating func take(where isLeaving: (Entry) -> Bool) -> [CookieIdentity] {
        var taken: [CookieIdentity] = []
        var changed: [(place: Place, rest: [Entry])] = []
        for (place, entries) in sites {
            // Most sites lose nothing, and need no array for it.
            guard let first = entries.firstIndex(where: isLeaving) else { continue }
            var rest = Array(entries[..<first])
            for entry in entries[first...] {
                if isLeaving(entry) { taken.append(entry.kept.cookie.identity) } else { rest.append(entry) }
            }
            changed.append((place, rest))
        }
        for (place, rest) in changed { sites[place] = rest.isEmpty ? nil : rest }
        count -= taken.count
        return taken
    }

    private func place(of identity: CookieIdentity) -> Place {
        Place(partition: identity.partition, site: suffixes.site(of: identity.domain).name)
    }

    private mutating func nextUse() -> UInt64 {
        useCount += 1
        return useCount
    }

    private static func isSentBefore(_ left: Kept, _ right: Kept) -> Bool {
        let (leftLength, rightLength) = (left.cookie.path.utf8.count, right.cookie.path.utf8.count)
        return leftLength == rightLength ? isOlder(left, right) : leftLength > rightLength
    }

    private static func isOlder(_ left: Kept, _ right: Kept) -> Bool {
        left.cookie.created == right.cookie.created
            ? left.order < right.order : left.cookie.created < right.cookie.created
    }
}
