/// Why a certificate chain is not trusted (TLS-4, TLS-5).
package enum CertificateRefusal: String, Error, Sendable, Equatable, CaseIterable {
    /// There is no certificate, or the chain ends without a trusted one.
    case unknownRoot = "the issuer is not known"
    /// The leaf is self-signed and not trusted.
    case selfSigned = "the certificate is self-signed"
    case notYetValid = "a certificate is not valid yet"
    case expired = "a certificate has expired"
    /// A signature does not match the issuer's key.
    case badSignature = "a signature is wrong"
    /// The octets are not a certificate in DER, even if a library accepts them.
    case malformed = "a certificate is malformed"
    /// An unknown extension is critical.
    case unknownExtension = "a critical extension is not known"
    /// A known extension is malformed.
    case unreadableExtension = "an extension cannot be read"
    case duplicateExtension = "a certificate has an extension twice"
    /// A CA has no subject, or another certificate has neither a subject nor critical alternative names.
    case emptySubject = "a certificate's subject is empty"
    /// An issuer is not a CA.
    case notAnAuthority = "the issuer may not issue certificates"
    /// A CA has more CAs below it than its path length allows.
    case pathTooLong = "there are more issuers than allowed"
    /// A name violates the name constraints of an issuer.
    case outsideConstraints = "a name is outside the issuer's name constraints"
    /// Critical name constraints have an unsupported form.
    case unsupportedConstraints = "an issuer's name constraints are not supported"
    /// No certificate policy is valid for the whole chain, although an issuer requires one.
    case noPolicy = "no certificate policy is valid for the whole chain"
    /// A certificate is not valid for TLS servers.
    case wrongPurpose = "a certificate is not for this purpose"
    case wrongHost = "the certificate is not for this host"
    /// RSA below 2048 bits, a curve below 256 bits, or another algorithm.
    case weakKey = "a key is too weak"
    case weakSignature = "a signature is too weak"
    case lastsTooLong = "the certificate is valid for too long"
    case revoked = "the certificate is revoked"
    /// A required OCSP response is missing.
    case unknownRevocation = "no response says that the certificate is not revoked"

    /// The code in `NSURLErrorDomain`.
    package var code: Int {
        switch self {
        case .expired: -1201
        case .unknownRoot: -1203
        case .notYetValid: -1204
        case .selfSigned, .badSignature, .malformed, .unknownExtension, .unreadableExtension, .duplicateExtension,
            .emptySubject, .notAnAuthority, .pathTooLong, .outsideConstraints, .unsupportedConstraints, .noPolicy,
            .wrongPurpose, .wrongHost, .weakKey, .weakSignature, .lastsTooLong, .revoked, .unknownRevocation:
            -1202
        }
    }
}
