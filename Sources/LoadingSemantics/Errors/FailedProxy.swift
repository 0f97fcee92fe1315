/// The proxy that caused a failure, for error messages.
package struct FailedProxy: Sendable, Equatable {
    /// As in proxy environment variables, without credentials: `socks5://proxy.example:1080`.
    package let url: String
    /// The status of the response to CONNECT, if that was the failure.
    package let status: Int?

    package init(_ server: ProxyServer, status: Int? = nil) {
        url = server.url
        self.status = status
    }
}
