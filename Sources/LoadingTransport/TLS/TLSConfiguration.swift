/// Parameters that connections share. Equal configurations can share a `TLSContext`.
package struct TLSConfiguration: Hashable, Sendable {
    package var minimumVersion = TLSVersion.tls12
    package var maximumVersion = TLSVersion.tls13
    /// ALPN protocol names in order of preference. If empty, the extension is not sent. A connection may override them.
    package var applicationProtocols: [String] = []
    package var roots = TLSRoots.system
    /// Whether the client offers post-handshake authentication (TLS 1.3). HTTP/2 forbids it (RFC 8740), but the offer
    /// precedes the selection of the protocol.
    package var allowsPostHandshakeAuthentication = true

    package init() {}

    /// The ALPN names in wire format, or nil if a name is empty or exceeds 255 bytes.
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

/// A TLS version, by its number on the wire.
package struct TLSVersion: RawRepresentable, Hashable, Comparable, Sendable {
    package let rawValue: UInt16

    package init(rawValue: UInt16) { self.rawValue = rawValue }

    package static let tls10 = TLSVersion(rawValue: 0x0301)
    package static let tls11 = TLSVersion(rawValue: 0x0302)
    package static let tls12 = TLSVersion(rawValue: 0x0303)
    package static let tls13 = TLSVersion(rawValue: 0x0304)

    package static func < (left: TLSVersion, right: TLSVersion) -> Bool { left.rawValue < right.rawValue }
}

/// The trust anchors for server certificates.
package enum TLSRoots: Hashable, Sendable {
    case system
    case systemAnd([TrustAnchor])
    case only([TrustAnchor])
}

/// The source of a root certificate.
package enum TrustAnchor: Hashable, Sendable {
    /// A file of PEM certificates, or of one certificate in DER.
    case file(String)
    case der([UInt8])
}
