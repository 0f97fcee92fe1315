/// A prefix of cookie names that guarantees properties to the server (RFC 6265bis §5.4). The two that require
/// `HttpOnly` are from draft-ietf-httpbis-layered-cookies.
package enum CookiePrefix: Sendable, Equatable {
    /// `__Secure-`
    case secure
    /// `__Host-`
    case host
    /// `__Http-`
    case http
    /// `__Host-Http-`
    case hostHTTP

    /// The prefix of a name, case-insensitively, because some servers compare names so.
    package init?(of text: String) {
        // One octet excludes almost all names.
        guard text.utf8.first == UInt8(ascii: "_") else { return nil }
        if CookieText.hasPrefix(text, "__secure-") {
            self = .secure
        } else if CookieText.hasPrefix(text, "__host-http-") {
            self = .hostHTTP
        } else if CookieText.hasPrefix(text, "__host-") {
            self = .host
        } else if CookieText.hasPrefix(text, "__http-") {
            self = .http
        } else {
            return nil
        }
    }

    /// Whether the cookie has the properties that the prefix requires.
    package func isSatisfied(by cookie: Cookie) -> Bool {
        switch self {
        case .secure: cookie.isSecure
        case .http: cookie.isSecure && cookie.isHTTPOnly
        case .host: cookie.isSecure && cookie.isHostOnly && cookie.path == "/"
        case .hostHTTP: cookie.isSecure && cookie.isHostOnly && cookie.path == "/" && cookie.isHTTPOnly
        }
    }
}
