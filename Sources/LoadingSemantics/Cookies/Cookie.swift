/// One cookie as a jar keeps it (RFC 6265bis §5.7). Times are seconds since 1970.
package struct Cookie: Sendable, Hashable {
    /// Of domain and path, in octets. An attribute is not longer, and a URL's path could fill the memory.
    package static let maximumPlaceLength = SetCookie.maximumAttributeLength

    package var name: String
    package var value: String
    /// In lower-case ASCII, without a leading dot.
    package var domain: String
    /// Whether the cookie is for that host alone, not for those below.
    package var isHostOnly: Bool
    package var path: String
    package var isSecure = false
    package var isHTTPOnly = false
    package var sameSite = CookieSameSite.unspecified
    /// Nil if it ends with the session.
    package var expires: Double?
    package var created: Double
    /// The jar of its own it lies in, or nil (COOK-24).
    package var partition: String?
    /// The ports it is for, or nil for any (COOK-6). No response can say that.
    package var ports: [UInt16]?
    /// What no rule looks at, but those may ask for who set the cookie, such as a comment.
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

    /// The cookie that a response sets: what its field says, made whole by the request.
    ///
    /// Here is checked only what cannot be seen in a cookie any more. Whether this server may set it is for the jar.
    package init(_ field: SetCookie, from request: CookieRequest, at now: Double) throws(CookieRefusal) {
        if let domain = field.domain, !domain.isEmpty {
            // A host in other letters would have come in ASCII.
            guard domain.utf8.allSatisfy({ $0 < 0x80 }) else { throw .foreignDomain }
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
        if field.isPartitioned, !isSecure || partition == nil { throw .noPartition }
        // A path that happens to be "/" is not one that was asked for.
        if field.path == nil, CookiePrefix(of: name).map({ $0 == .host || $0 == .hostHTTP }) ?? false {
            throw .brokenPrefix
        }
    }

    package var identity: CookieIdentity {
        CookieIdentity(partition: partition, domain: domain, isHostOnly: isHostOnly, path: path, name: name)
    }

    package func isExpired(at now: Double) -> Bool { expires.map { $0 <= now } ?? false }

    /// Whether the cookie goes to that address, whatever document asks for it (§5.8.3).
    ///
    /// - Parameters:
    ///   - path: The address's path.
    ///   - isSuffix: Whether the host is a public suffix. Then a cookie for all below it is one of the program's
    ///     own, or older than the list, and goes nowhere.
    func isFor(_ url: HTTPURL, path: String, isSuffix: Bool) -> Bool {
        (isHostOnly || isSuffix
            ? isHostOnly && url.host == domain : CookieDomain.matches(host: url.host, domain: domain))
            && (!isSecure || url.scheme.isSecure) && CookiePath.matches(path, self.path)
            && (ports?.contains(url.port) ?? true)
    }

    /// The value of the `Cookie` field with these, in their order; nil without any (COOK-9).
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
