/// Who asks for credentials: a server, or a proxy for one kind of traffic (AUTH-12, AUTH-14).
package struct AuthenticationPeer: Sendable, Hashable {
    package let place: ProtectionSpace.Place
    /// In lower case.
    package let host: String
    package let port: UInt16
    /// Whether TLS ends at the proxy: what was said within it is not said in the clear to the same place. Of a server its place
    /// tells.
    private let isSecureProxy: Bool

    package init(serverOf url: HTTPURL) {
        place = .server(url.scheme == .ftp ? .ftp : url.scheme.isSecure ? .https : .http)
        host = url.host.lowercased()
        port = url.port
        isSecureProxy = false
    }

    package init(_ proxy: ProxyServer, as kind: ProtectionSpace.ProxyKind) {
        place = .proxy(kind)
        host = proxy.host
        port = proxy.port
        isSecureProxy = proxy.kind == .https
    }
}
