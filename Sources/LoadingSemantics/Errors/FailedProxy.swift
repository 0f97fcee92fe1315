/// The proxy that a load has failed at, for whoever tells people about it.
package struct FailedProxy: Sendable, Equatable {
    /// As the settings write it, without the user: `socks5://proxy.example:1080`.
    package let url: String
    /// What it has answered CONNECT with, if that is how it has failed.
    package let status: Int?

    package init(_ server: ProxyServer, status: Int? = nil) {
        url = server.url
        self.status = status
    }
}
