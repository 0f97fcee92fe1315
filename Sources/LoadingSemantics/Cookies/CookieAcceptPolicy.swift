/// `HTTPCookie.AcceptPolicy` (COOK-13).
package enum CookieAcceptPolicy: UInt8, Sendable {
    case always
    case never
    case onlyFromMainDocumentDomain

    /// The stricter of the policies of session and storage.
    package func combined(with other: CookieAcceptPolicy) -> CookieAcceptPolicy {
        if self == .never || other == .never { return .never }
        return self == .always ? other : self
    }

    /// Whether cookies of the response are accepted. The host of the main document must be the cookie's host or a
    /// subdomain of it (COOK-14).
    package func accepts(_ request: CookieRequest) -> Bool {
        switch (self, request.document) {
        case (.never, _): false
        case (.always, _), (_, .none): true
        case (_, .web(let document)):
            document.host == request.url.host
                || CookieDomain.matches(host: document.host, domain: request.url.host)
        case (_, .other): false
        }
    }
}
