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
