public import Foundation
internal import LoadingSemantics
internal import LoadingTransport

/// An X.509 certificate. Immutable; two are equal when their bytes are.
public final class SecCertificate: NSObject, Sendable {
    let certificate: Certificate
    let der: [UInt8]

    init(_ certificate: Certificate) {
        self.certificate = certificate
        der = certificate.der
    }

    /// The SHA-256 hash of the SubjectPublicKeyInfo, for public key pinning.
    package var publicKeyHash: Data? {
        certificate.publicKeyInfo.flatMap { MessageDigest.hash(.sha256, $0) }.map { Data($0) }
    }

    /// Why OpenSSL could not be loaded, or nil. Without OpenSSL no certificate can be read.
    package static var libraryFailure: String? { TLSError.libraryFailure }

    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? SecCertificate else { return false }
        return other === self || other.der == der
    }

    public override var hash: Int { der.hashValue }

    /// The name of the subject for logs and errors: a server chooses it.
    var printableSummary: String? { certificate.summary.map { CertificateRefusalMessage.printable($0) } }

    public override var description: String { "<SecCertificate: \(printableSummary ?? "")>" }
}

/// Creates a certificate from its DER encoding. Returns nil if the bytes are not a valid certificate; DER, dates and
/// extensions are checked strictly. `allocator` is ignored.
@discardableResult
public func SecCertificateCreateWithData(_ allocator: CFAllocator?, _ data: CFData) -> SecCertificate? {
    let bytes = [UInt8](data as Data)
    guard CertificateEncoding(der: bytes) != nil, let certificate = Certificate(der: bytes), certificate.validity != nil
    else { return nil }
    return SecCertificate(certificate)
}

/// The certificate in DER.
@discardableResult
public func SecCertificateCopyData(_ certificate: SecCertificate) -> CFData { NSData(certificate.der) }

/// The public key, or nil if its algorithm is unknown.
@discardableResult
public func SecCertificateCopyKey(_ certificate: SecCertificate) -> SecKey? {
    certificate.certificate.key.map { SecKey($0) }
}

/// A readable name of the subject.
@discardableResult
public func SecCertificateCopySubjectSummary(_ certificate: SecCertificate) -> CFString? {
    certificate.certificate.summary.map { $0 as NSString }
}

/// The common name of the subject; nil if there is none.
@discardableResult
public func SecCertificateCopyCommonName(
    _ certificate: SecCertificate, _ commonName: UnsafeMutablePointer<CFString?>
) -> OSStatus {
    commonName.pointee = certificate.certificate.commonName.map { $0 as NSString }
    return errSecSuccess
}

/// The email addresses of the subject, possibly none.
@discardableResult
public func SecCertificateCopyEmailAddresses(
    _ certificate: SecCertificate, _ emailAddresses: UnsafeMutablePointer<CFArray?>
) -> OSStatus {
    emailAddresses.pointee = certificate.certificate.mailAddresses as NSArray
    return errSecSuccess
}

/// The serial number, big-endian.
@discardableResult
public func SecCertificateCopySerialNumberData(
    _ certificate: SecCertificate, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? { NSData(certificate.certificate.serialNumber) }

/// The issuer's name in DER, normalized for comparison.
@discardableResult
public func SecCertificateCopyNormalizedIssuerSequence(_ certificate: SecCertificate) -> CFData? {
    certificate.certificate.normalizedIssuer.map { NSData($0) }
}

/// The subject's name in DER, normalized for comparison.
@discardableResult
public func SecCertificateCopyNormalizedSubjectSequence(_ certificate: SecCertificate) -> CFData? {
    certificate.certificate.normalizedSubject.map { NSData($0) }
}

/// The beginning of the validity period.
@discardableResult
public func SecCertificateCopyNotValidBeforeDate(_ certificate: SecCertificate) -> CFDate? {
    certificate.certificate.validity.map { NSDate(timeIntervalSince1970: TimeInterval($0.from)) }
}

/// The end of the validity period.
@discardableResult
public func SecCertificateCopyNotValidAfterDate(_ certificate: SecCertificate) -> CFDate? {
    certificate.certificate.validity.map { NSDate(timeIntervalSince1970: TimeInterval($0.until)) }
}

extension NSData {
    convenience init(_ bytes: [UInt8]) { self.init(data: Data(bytes)) }
}
