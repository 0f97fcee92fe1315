/// Why a server is not trusted (TLS-4, TLS-5).
package enum CertificateRefusal: String, Error, Sendable, Equatable, CaseIterable {
    /// No certificate at all, or none that is trusted at the end of the chain.
    case unknownRoot = "the issuer is not known"
    /// The server's certificate is its own issuer, and nobody trusts it.
    case selfSigned = "the certificate is self-signed"
    case notYetValid = "a certificate is not valid yet"
    case expired = "a certificate has expired"
    /// Something that is no authority has signed a certificate.
    case notAnAuthority = "the issuer may not issue certificates"
    /// An authority has more authorities below it than it may.
    case pathTooLong = "there are more issuers than allowed"
    /// It is not for servers.
    case wrongPurpose = "a certificate is not for TLS servers"
    case wrongHost = "the certificate is not for this host"
    /// RSA below 2048 bits, a curve below 256, or something else.
    case weakKey = "a key is too weak"
    case weakSignature = "a signature is too weak"
    case lastsTooLong = "the certificate is valid for too long"

    /// In `NSURLErrorDomain`.
    package var code: Int {
        switch self {
        case .expired: -1201
        case .unknownRoot: -1203
        case .notYetValid: -1204
        case .selfSigned, .notAnAuthority, .pathTooLong, .wrongPurpose, .wrongHost, .weakKey, .weakSignature,
            .lastsTooLong:
            -1202
        }
    }
}
