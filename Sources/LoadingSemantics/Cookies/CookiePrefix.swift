/// What the beginning of a cookie's name promises to the server that gets it back (RFC 6265bis §5.4; the two that ask
/// for `HttpOnly` are those of draft-ietf-httpbis-layered-cookies).
package enum CookiePrefix: Sendable, Equatable {
    /// `__Secure-`
    case secure
    /// `__Host-`
    case host
    /// `__Http-`
    case http
    /// `__Host-Http-`
    case hostHTTP

    /// The prefix a text begins with, in any case: there are servers that compare names so.
    package init?(of text: String) {
        // What nearly every name begins with is told by one octet.
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

    /// Whether the cookie keeps the promise.
    package func isKept(by cookie: Cookie) -> Bool {
        switch self {
        case .secure: cookie.isSecure
        case .http: cookie.isSecure && cookie.isHTTPOnly
        case .host: cookie.isSecure && cookie.isHostOnly && cookie.path == "/"
        case .hostHTTP: cookie.isSecure && cookie.isHostOnly && cookie.path == "/" && cookie.isHTTPOnly
        }
    }
}
