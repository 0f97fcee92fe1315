/// The properties of a certificate (X.509, RFC 5280) that `CertificateRules` checks.
package struct CertificateFacts: Sendable, Equatable {
    package enum Name: Sendable, Equatable {
        /// A dNSName, in any case, possibly with "*" as its first label. Octets that are not ASCII match no host.
        case host(String)
        /// An iPAddress: usually 4 or 16 bytes, but not validated.
        case address([UInt8])
        /// Any other name form.
        case other
    }

    package enum Key: Sendable, Equatable {
        /// rsaEncryption or RSASSA-PSS, with the length of the modulus.
        case rsa(bits: Int)
        /// The length of the curve's field: 256 for P-256 and Ed25519, 384 for P-384, 521 for P-521, 448 for Ed448.
        case elliptic(bits: Int)
        /// Anything else.
        case other
    }

    /// The hash algorithm of a signature; for RSASSA-PSS that of its parameters.
    package enum SignatureHash: Sendable, Equatable {
        /// SHA-224, -256, -384, -512, -512/256.
        case sha2
        /// Ed25519 and Ed448, which have their own hash.
        case edwards
        case sha1
        /// MD5 and unknown algorithms.
        case other
    }

    /// The purposes of the extended key usage extension.
    package struct Purposes: OptionSet, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// id-kp-serverAuth, 1.3.6.1.5.5.7.3.1
        package static let server = Purposes(rawValue: 1)
        /// anyExtendedKeyUsage, 2.5.29.37.0
        package static let any = Purposes(rawValue: 2)
    }

    /// The subject alternative names; empty without the extension. The common name is not used.
    package var names: [Name]
    package var key: Key
    /// The signature on this certificate.
    package var signature: SignatureHash
    /// notBefore and notAfter, in seconds since 1970. For a malformed time, `.max` and `.min`, so that the certificate
    /// is not valid.
    package var validFrom: Int64
    package var validUntil: Int64
    /// Nil without the extension; empty if it contains neither.
    package var purposes: Purposes?
    /// cA of the basic constraints; false without the extension.
    package var isAuthority: Bool
    /// pathLenConstraint.
    package var pathLength: Int?
    /// Whether subject and issuer are equal.
    package var isSelfIssued: Bool
    /// Nil if the octets are not a well-formed certificate.
    package var encoding: CertificateEncoding?

    package init(
        names: [Name] = [], key: Key, signature: SignatureHash, validFrom: Int64, validUntil: Int64,
        purposes: Purposes? = nil, isAuthority: Bool = false, pathLength: Int? = nil, isSelfIssued: Bool = false,
        encoding: CertificateEncoding? = CertificateEncoding()
    ) {
        self.names = names
        self.key = key
        self.signature = signature
        self.validFrom = validFrom
        self.validUntil = validUntil
        self.purposes = purposes
        self.isAuthority = isAuthority
        self.pathLength = pathLength
        self.isSelfIssued = isSelfIssued
        self.encoding = encoding
    }
}
