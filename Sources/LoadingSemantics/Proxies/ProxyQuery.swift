/// What an adviser gets to know of what is to be reached: no user and no password, and of secure addresses nothing but the
/// host, since whoever has written a script is not whom the user speaks to.
package struct ProxyQuery: Sendable, Hashable {
    package let url: String
    /// As scripts want it: without brackets.
    package let host: String

    package init(_ url: HTTPURL) {
        let path = url.scheme.isSecure || url.scheme == .ftp ? "/" : String(decoding: url.target, as: UTF8.self)
        self.url = "\(url.scheme.name)://\(String(decoding: url.authority, as: UTF8.self))\(path)"
        host = url.host
    }

    package init(_ destination: ProxyDestination) {
        let scheme =
            switch destination.traffic {
            case .http: "http"
            case .https: "https"
            case .ftp: "ftp"
            case .other: "tcp"
            }
        url = "\(scheme)://\(destination.authority)/"
        host = destination.host
    }
}
