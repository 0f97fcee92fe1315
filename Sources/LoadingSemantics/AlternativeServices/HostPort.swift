/// Where a server is found: a host and a port. An origin has one, and so has each of its alternatives, and a proxy.
package struct HostPort: Sendable, Hashable {
    /// As in `HTTPURL`: lower-case ASCII, an address without brackets.
    package let host: String
    package let port: UInt16

    package init(_ host: String, _ port: UInt16) {
        self.host = host
        self.port = port
    }
}
