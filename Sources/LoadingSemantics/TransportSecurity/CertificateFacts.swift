/// What the rules want to know of one certificate (X.509, RFC 5280).
package struct CertificateFacts: Sendable, Equatable {
    package enum Name: Sendable, Equatable {
        /// A dNSName, as it stands there: in any case, perhaps with "*" as its first label. Octets that are not ASCII
        /// may be read in any way; no host has them.
        case host(String)
        /// An iPAddress: 4 or 16 bytes, or whatever else is there.
        case address([UInt8])
        /// Any other form of name.
        case other
    }

    package enum Key: Sendable, Equatable {
        /// rsaEncryption or RSASSA-PSS; the length of the modulus.
        case rsa(bits: Int)
        /// The length of the curve's field: 256 for P-256 and Ed25519, 384 for P-384, 521 for P-521, 448 for Ed448.
        case elliptic(bits: Int)
        /// Anything else.
        case other
    }

    /// The hash of a signature; for RSASSA-PSS that of its parameters.
    package enum SignatureHash: Sendable, Equatable {
        /// SHA-224, -256, -384, -512, -512/256.
        case sha2
        /// Ed25519 and Ed448, which bring their own.
        case edwards
        case sha1
        /// MD5 and all that is not known.
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

    /// Of the subject alternative name extension; none if it is not there. The common name is not asked for.
    package var names: [Name]
    package var key: Key
    /// Of the signature on this certificate, not of what its key signs.
    package var signature: SignatureHash
    /// The notBefore and notAfter of its validity, in seconds since 1970. A time that cannot be read is to be such that
    /// the certificate is not valid: `.max` and `.min`.
    package var validFrom: Int64
    package var validUntil: Int64
    /// Nil without the extension; empty if it is there and holds neither.
    package var purposes: Purposes?
    /// The cA of the basic constraints extension; false without it.
    package var isAuthority: Bool
    /// Its pathLenConstraint.
    package var pathLength: Int?
    /// Whether subject and issuer are the same name.
    package var isSelfIssued: Bool
    /// What the octets say; nil if they are not those of a certificate.
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
