/// What is the same for many TLS connections. Equal configurations can share a `TLSContext`.
package struct TLSConfiguration: Hashable, Sendable {
    package var minimumVersion = TLSVersion.tls12
    package var maximumVersion = TLSVersion.tls13
    /// ALPN protocol names, the preferred one first. None: the extension is not sent. A connection may offer others.
    package var applicationProtocols: [String] = []
    package var roots = TLSRoots.system
    /// Whether a server may ask for a client certificate after the handshake (TLS 1.3). HTTP/2 forbids it (RFC 8740),
    /// but a client must offer it before it knows the protocol.
    package var allowsPostHandshakeAuthentication = true

    package init() {}

    /// ALPN names in wire format, or nil when a name has no bytes or more than 255.
    static func encoded(_ applicationProtocols: [String]) -> [UInt8]? {
        var bytes: [UInt8] = []
        for name in applicationProtocols {
            guard let count = UInt8(exactly: name.utf8.count), count > 0 else { return nil }
            bytes.append(count)
            bytes.append(contentsOf: name.utf8)
        }
        return bytes
    }
}
