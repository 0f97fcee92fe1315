/// Why a server is not trusted (TLS-4, TLS-5).
package enum CertificateRefusal: String, Error, Sendable, Equatable, CaseIterable {
    /// No certificate at all, or none that is trusted at the end of the chain.
    case unknownRoot = "the issuer is not known"
    /// The server's certificate is its own issuer, and nobody trusts it.
    case selfSigned = "the certificate is self-signed"
    case notYetValid = "a certificate is not valid yet"
    case expired = "a certificate has expired"
    /// A signature does not come from the issuer's key.
    case badSignature = "a signature is wrong"
    /// The octets are not those of a certificate, however a library reads them.
    case malformed = "a certificate is malformed"
    /// An extension is critical, and nobody here knows it.
    case unknownExtension = "a critical extension is not known"
    /// An extension is known and not of its form.
    case unreadableExtension = "an extension cannot be read"
    case duplicateExtension = "a certificate has an extension twice"
    /// An authority, or a certificate that has no critical names in its place, does not say whose it is.
    case emptySubject = "a certificate's subject is empty"
    /// Something that is no authority has signed a certificate.
    case notAnAuthority = "the issuer may not issue certificates"
    /// An authority has more authorities below it than it may.
    case pathTooLong = "there are more issuers than allowed"
    /// A name is none of those that an issuer may give.
    case outsideConstraints = "a name is outside the issuer's name constraints"
    /// Critical name constraints of a kind that nothing here can compare.
    case unsupportedConstraints = "an issuer's name constraints are not supported"
    /// No certificate policy is valid for the whole chain, where an issuer asks for one.
    case noPolicy = "no certificate policy is valid for the whole chain"
    /// It is not for servers.
    case wrongPurpose = "a certificate is not for this purpose"
    case wrongHost = "the certificate is not for this host"
    /// RSA below 2048 bits, a curve below 256, or something else.
    case weakKey = "a key is too weak"
    case weakSignature = "a signature is too weak"
    case lastsTooLong = "the certificate is valid for too long"
    case revoked = "the certificate is revoked"
    /// There has to be a response that says that it is not.
    case unknownRevocation = "no response says that the certificate is not revoked"

    /// In `NSURLErrorDomain`.
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
