public import Foundation
internal import LoadingTransport

/// A certificate with its private key, for TLS client authentication. Immutable.
///
/// Linux has no keychain. `SecPKCS12Import` reads an identity from an archive.
public final class SecIdentity: NSObject, Sendable {
    let certificate: SecCertificate
    let key: SecKey
    /// The intermediate certificates that came with it.
    let intermediates: [SecCertificate]

    init(certificate: SecCertificate, key: SecKey, intermediates: [SecCertificate]) {
        self.certificate = certificate
        self.key = key
        self.intermediates = intermediates
    }

    /// An identity from PEM text with the certificate, its intermediates, and the key in any position.
    package convenience init?(pem: Data, password: String?) {
        guard let identity = try? TLSIdentity(pem: [UInt8](pem), password: password) else { return nil }
        self.init(identity)
    }

    convenience init?(_ identity: TLSIdentity) {
        guard let certificates = identity.chain?.certificates.map({ SecCertificate($0) }),
            let leaf = certificates.first,
            let key = identity.key
        else { return nil }
        self.init(certificate: leaf, key: SecKey(key), intermediates: Array(certificates.dropFirst()))
    }

    /// The identity for a TLS handshake, with `others` as intermediate certificates.
    func tlsIdentity(with others: [SecCertificate]) -> TLSIdentity? {
        let behind = others.filter { $0 != certificate }.map(\.der)
        guard let chain = CertificateChain(der: behind) else { return nil }
        return try? TLSIdentity(certificate.certificate, key: key.key, intermediates: chain)
    }

    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? SecIdentity else { return false }
        return other === self || other.certificate == certificate && other.key == key
    }

    public override var hash: Int { certificate.hash }

    public override var description: String { "<SecIdentity: \(certificate)>" }
}

/// The certificate of an identity.
@discardableResult
public func SecIdentityCopyCertificate(
    _ identityRef: SecIdentity, _ certificateRef: UnsafeMutablePointer<SecCertificate?>
) -> OSStatus {
    certificateRef.pointee = identityRef.certificate
    return errSecSuccess
}

/// The private key of an identity.
@discardableResult
public func SecIdentityCopyPrivateKey(
    _ identityRef: SecIdentity, _ privateKeyRef: UnsafeMutablePointer<SecKey?>
) -> OSStatus {
    privateKeyRef.pointee = identityRef.key
    return errSecSuccess
}
