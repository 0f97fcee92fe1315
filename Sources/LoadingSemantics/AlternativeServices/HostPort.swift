/// The host and port of a server: of an origin, of an alternative, or of a proxy.
package struct HostPort: Sendable, Hashable {
    /// As in `HTTPURL`: lower-case ASCII, addresses without brackets.
    package let host: String
    package let port: UInt16

    package init(_ host: String, _ port: UInt16) {
        self.host = host
        self.port = port
    }
}
