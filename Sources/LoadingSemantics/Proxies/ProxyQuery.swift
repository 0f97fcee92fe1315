/// The arguments of `FindProxyForURL`. They contain no credentials, and of a secure URL only the host, because the
/// author of the script is a third party.
package struct ProxyQuery: Sendable, Hashable {
    package let url: String
    /// Without brackets, as PAC scripts expect.
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
