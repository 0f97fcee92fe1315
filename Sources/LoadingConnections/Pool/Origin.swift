/// Where a connection leads: scheme class, host and port (RFC 6454). Two requests may share a connection when their
/// origins are equal.
package struct Origin: Hashable, Sendable {
    /// Whether TLS is spoken.
    package let isSecure: Bool
    /// Lower-case name, or an address literal without brackets.
    package let host: String
    package let port: UInt16

    package init(isSecure: Bool, host: String, port: UInt16) {
        self.isSecure = isSecure
        self.host = host
        self.port = port
    }
}
