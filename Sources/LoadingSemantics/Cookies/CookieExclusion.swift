/// What decides about the cookies of a request.
struct CookieTarget {
    let url: HTTPURL
    let path: String
    let isSameSite: Bool
    /// Whether cookies with `SameSite=Lax` are sent.
    let isLaxEnough: Bool
    /// Whether the host is a public suffix of two or more labels. A domain cookie of one may have been set before the
    /// list named the suffix, and is not sent. For a name of one label, such as "localhost", only the application can
    /// have set one.
    let isListedSuffix: Bool

    init(_ request: CookieRequest, by suffixes: PublicSuffixes, isSuffix: Bool) {
        url = request.url
        path = request.path
        isSameSite = request.isSameSite(by: suffixes)
        isLaxEnough = isSameSite || request.isTopLevelNavigation && request.isSafe
        isListedSuffix = isSuffix && url.host.utf8.contains(UInt8(ascii: "."))
    }
}

/// Why a request does not carry a cookie of its site (RFC 6265bis §5.8.3).
package enum CookieExclusion: Sendable, Equatable {
    case crossSite
    case domain
    case insecureURL
    case path
    case port
    case expired

    /// In words for people.
    package var reason: String {
        switch self {
        case .crossSite: "SameSite in a cross-site request"
        case .domain: "it is for another domain"
        case .insecureURL: "Secure, and the connection is not"
        case .path: "it is for another path"
        case .port: "it is for other ports"
        case .expired: "it has expired"
        }
    }
}
