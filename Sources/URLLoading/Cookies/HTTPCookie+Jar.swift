internal import Foundation
internal import LoadingSemantics

/// Conversion between public cookies and those of a jar.
extension Cookie {
    /// The keys of properties that the jar stores for `HTTPCookie` only.
    fileprivate enum Annotation {
        static let version = "Version"
        static let comment = "Comment"
        static let commentURL = "CommentURL"
        static let setByJavaScript = "SetInJavaScript"
        static let discard = "Discard"
    }

    /// - Parameter partition: The cookie partition.
    init(_ cookie: HTTPCookie, in partition: String?) {
        let domain = cookie.domain
        let isWide = domain.hasPrefix(".")
        self.init(
            name: cookie.name, value: cookie.value, domain: isWide ? String(domain.dropFirst()) : domain,
            isHostOnly: !isWide, path: cookie.path, created: cookie.created.timeIntervalSince1970)
        isSecure = cookie.isSecure
        isHTTPOnly = cookie.isHTTPOnly
        sameSite =
            switch cookie.sameSitePolicy {
            case .sameSiteLax?: .lax
            case .sameSiteStrict?: .strict
            default: .unspecified
            }
        expires = cookie.expiresDate?.ifFinite?.timeIntervalSince1970
        self.partition = partition
        ports = cookie.portList?.compactMap { UInt16(exactly: $0.intValue) }
        if cookie.version != 0 { annotations[Annotation.version] = String(cookie.version) }
        annotations[Annotation.comment] = cookie.comment
        annotations[Annotation.commentURL] = cookie.commentURL?.absoluteString
        annotations[Annotation.setByJavaScript] = cookie.setByJavaScript
        if expires == nil, !cookie.isSessionOnly { annotations[Annotation.discard] = "FALSE" }
    }
}

extension HTTPCookie.Values {
    init(_ cookie: Cookie) {
        typealias Annotation = Cookie.Annotation
        self.init(
            version: cookie.annotations[Annotation.version].flatMap { Int($0) } == 1 ? 1 : 0, name: cookie.name,
            value: cookie.value, expires: cookie.expires.map { Date(timeIntervalSince1970: $0) },
            isSessionOnly: cookie.expires == nil && cookie.annotations[Annotation.discard] != "FALSE",
            domain: cookie.isHostOnly ? cookie.domain : "." + cookie.domain,
            path: cookie.path, isSecure: cookie.isSecure, isHTTPOnly: cookie.isHTTPOnly,
            comment: cookie.annotations[Annotation.comment],
            commentURL: cookie.annotations[Annotation.commentURL].flatMap { URL(string: $0) },
            ports: cookie.ports.map { $0.map { Int($0) } },
            sameSite: HTTPCookieStringPolicy(cookie.sameSite),
            setByJavaScript: cookie.annotations[Annotation.setByJavaScript],
            created: Date(timeIntervalSince1970: cookie.created))
    }
}

extension HTTPCookieStringPolicy {
    fileprivate init?(_ sameSite: CookieSameSite) {
        switch sameSite {
        case .lax: self = .sameSiteLax
        case .strict: self = .sameSiteStrict
        case .none, .unspecified: return nil
        }
    }
}
