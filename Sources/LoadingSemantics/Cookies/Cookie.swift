/// A stored cookie (RFC 6265bis §5.7). Times are seconds since 1970.
package struct Cookie: Sendable, Hashable {
    /// The limit for domain and path, in octets: that of attribute values. A default path comes from a URL, which has
    /// no limit of its own.
    package static let maximumPlaceLength = SetCookie.maximumAttributeLength

    package var name: String
    package var value: String
    /// In lower-case ASCII, without a leading dot.
    package var domain: String
    /// `host-only-flag`: whether the cookie is sent to that host only, and not to its subdomains.
    package var isHostOnly: Bool
    package var path: String
    package var isSecure = false
    package var isHTTPOnly = false
    package var sameSite = CookieSameSite.unspecified
    /// Nil for a session cookie.
    package var expires: Double?
    package var created: Double
    /// The partition of the cookie, or nil (COOK-24).
    package var partition: String?
    /// The ports to which the cookie is sent, or nil for any (COOK-6). `Set-Cookie` cannot set them.
    package var ports: [UInt16]?
    /// Properties that no rule uses, such as a comment. The application may read them back.
    package var annotations: [String: String] = [:]

    package init(
        name: String, value: String, domain: String, isHostOnly: Bool = true, path: String = "/", created: Double
    ) {
        self.name = name
        self.value = value
        self.domain = domain
        self.isHostOnly = isHostOnly
        self.path = path
        self.created = created
    }

    /// The cookie that a `Set-Cookie` field describes, with defaults from the request.
    ///
    /// Checks only what the resulting cookie no longer shows. `CookieJar` checks whether the server may set it.
    package init(_ field: SetCookie, from request: CookieRequest, at now: Double) throws(CookieRefusal) {
        if let domain = field.domain, !domain.isEmpty {
            // `HTTPURL` hosts are ASCII, so another domain cannot match.
            guard domain.utf8.allSatisfy({ $0 < 0x80 }) else { throw .domainMismatch }
            self.domain = domain
            isHostOnly = false
        } else {
            domain = request.url.host
            isHostOnly = true
        }
        if let path = field.path, !path.isEmpty {
            self.path = path
        } else {
            path = CookiePath.default(of: request.path)
        }
        name = field.name
        value = field.value
        isSecure = field.isSecure
        isHTTPOnly = field.isHTTPOnly
        sameSite = field.sameSite
        partition = request.partition
        created = now
        if let seconds = field.maximumAge {
            expires = now + min(max(Double(seconds), 0), TimeLimits.standard.longestCookieLifetime)
        } else if let date = field.expires {
            expires = min(Double(date), now + TimeLimits.standard.longestCookieLifetime)
        }

        if sameSite == .none, !isSecure { throw .sameSiteNoneWithoutSecure }
        if field.isPartitioned, !isSecure || partition == nil { throw .missingPartition }
        // `__Host-` requires the attribute itself: a default path "/" does not count.
        if field.path == nil, CookiePrefix(of: name).map({ $0 == .host || $0 == .hostHTTP }) ?? false {
            throw .prefixViolation
        }
    }

    package var identity: CookieIdentity {
        CookieIdentity(partition: partition, domain: domain, isHostOnly: isHostOnly, path: path, name: name)
    }

    package func isExpired(at now: Double) -> Bool { expires.map { $0 <= now } ?? false }

    /// Why a request does not carry the cookie (§5.8.3); nil if it does.
    func exclusion(from target: CookieTarget, at now: Double) -> CookieExclusion? {
        if sameSite == .strict, !target.isSameSite { return .crossSite }
        if sameSite == .lax, !target.isLaxEnough { return .crossSite }
        let url = target.url
        let isOfDomain =
            isHostOnly || target.isListedSuffix
            ? isHostOnly && url.host == domain : CookieDomain.matches(host: url.host, domain: domain)
        if !isOfDomain { return .domain }
        if isSecure, !url.scheme.isSecure { return .insecureURL }
        if !CookiePath.matches(target.path, path) { return .path }
        if let ports, !ports.contains(url.port) { return .port }
        return isExpired(at: now) ? .expired : nil
    }

    /// The value of a `Cookie` field, in the order of the cookies; nil if there are none (COOK-9).
    package static func field(_ cookies: [Cookie]) -> String? {
        if cookies.isEmpty { return nil }
        var result = ""
        for cookie in cookies {
            if !result.isEmpty { result += "; " }
            result += cookie.name
            result += "="
            result += cookie.value
        }
        return result
    }
}

/// The cross-site requests that carry a cookie (RFC 6265bis §5.6.7).
package enum CookieSameSite: UInt8, Sendable {
    /// The attribute is absent or unknown. Treated as `none`, as on Apple platforms (COOK-7).
    case unspecified
    /// All.
    case none
    /// Only top-level navigations with a safe method.
    case lax
    /// None of them.
    case strict
}
