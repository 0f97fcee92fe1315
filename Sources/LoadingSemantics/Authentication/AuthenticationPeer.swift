/// The server or proxy that requests credentials. A proxy has one identity for each kind of traffic (AUTH-12, AUTH-14).
package struct AuthenticationPeer: Sendable, Hashable {
    package let kind: ProtectionSpace.Kind
    /// In lower case.
    package let host: String
    package let port: UInt16
    /// Whether the connection to the proxy uses TLS. Credentials that were used over TLS must not be used in cleartext
    /// with the same host and port. For a server, `place` has this information.
    private let isSecureProxy: Bool

    package init(serverOf url: HTTPURL) {
        kind = .server(url.scheme == .ftp ? .ftp : url.scheme.isSecure ? .https : .http)
        host = url.host.lowercased()
        port = url.port
        isSecureProxy = false
    }

    package init(_ proxy: ProxyServer, as kind: ProtectionSpace.ProxyKind) {
        self.kind = .proxy(kind)
        host = proxy.host
        port = proxy.port
        isSecureProxy = proxy.kind == .https
    }
}
