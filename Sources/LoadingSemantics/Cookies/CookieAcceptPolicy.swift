/// Which cookies of responses are taken (COOK-13).
package enum CookieAcceptPolicy: UInt8, Sendable {
    case always
    case never
    case onlyFromMainDocumentDomain

    /// The policy of a task's session and that of the storage together: the stricter one.
    package func combined(with other: CookieAcceptPolicy) -> CookieAcceptPolicy {
        if self == .never || other == .never { return .never }
        return self == .always ? other : self
    }

    /// Whether cookies of that response are taken. The main document's host has to be the cookie's or below it
    /// (COOK-14).
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
