/// The `algorithm` parameter (RFC 7616 §3.3).
package struct DigestAlgorithm: Sendable, Equatable {
    package var hash: DigestHash
    /// `-sess`: H(A1) also covers the first nonce and cnonce of the session.
    package var isSession: Bool

    package init(_ hash: DigestHash, isSession: Bool = false) {
        self.hash = hash
        self.isSession = isSession
    }

    /// - Parameter name: In any case; nil if the parameter is missing.
    package init?(_ name: String?) {
        switch name?.lowercased() {
        case nil, "md5": self.init(.md5)
        case "md5-sess": self.init(.md5, isSession: true)
        case "sha-256": self.init(.sha256)
        case "sha-256-sess": self.init(.sha256, isSession: true)
        case "sha-512-256": self.init(.sha512_256)
        case "sha-512-256-sess": self.init(.sha512_256, isSession: true)
        default: return nil
        }
    }

    package var name: String {
        let base =
            switch hash {
            case .md5: "MD5"
            case .sha256: "SHA-256"
            case .sha512_256: "SHA-512-256"
            }
        return isSession ? base + "-sess" : base
    }
}

/// The hash functions of Digest (RFC 7616 §6.1).
package enum DigestHash: Sendable, CaseIterable {
    case md5
    case sha256
    /// SHA-512/256 of FIPS 180-4. It has its own initial value, so it is not a truncated SHA-512.
    case sha512_256
}

/// Hashes octets. Returns nil if the cryptographic library does not offer the function, such as MD5 in FIPS mode. A
/// parameter, so that this module needs no cryptographic library.
package typealias DigestFunction = @Sendable (_ hash: DigestHash, _ octets: [UInt8]) -> [UInt8]?
