internal import CTestTLS

/// A private key, as PKCS #8.
package struct TestPrivateKey: Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
        /// Fast to create, so the default.
        case ellipticP256
        /// An elliptic curve by OpenSSL's name, such as `secp224r1`.
        case elliptic(String)
        /// Ed25519.
        case edwards
        /// 2048 bits take about 0.1 s to create.
        case rsa(bits: Int)
    }

    package let der: [UInt8]

    package init(_ kind: Kind = .ellipticP256) throws {
        der =
            switch kind {
            case .ellipticP256: try takingBytes("make a P-256 key") { ctt_make_elliptic_key("P-256", &$0) }
            case .elliptic(let curve): try takingBytes("make a key on \(curve)") { ctt_make_elliptic_key(curve, &$0) }
            case .edwards: try takingBytes("make an Ed25519 key") { ctt_make_edwards_key(&$0) }
            case .rsa(let bits):
                try takingBytes("make an RSA key of \(bits) bits") { ctt_make_rsa_key(UInt32(clamping: bits), &$0) }
            }
    }

    package var pem: String { PEM.encode(der, label: "PRIVATE KEY") }
}
