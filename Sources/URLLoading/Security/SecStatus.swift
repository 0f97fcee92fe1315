public import Foundation

/// The result code of a function of the security API; 0 means success.
public typealias OSStatus = Int32

/// Success.
public let errSecSuccess: OSStatus = 0
/// A parameter is invalid.
public let errSecParam: OSStatus = -50
/// OpenSSL could not be loaded.
public let errSecServiceNotAvailable: OSStatus = -67585
/// The password is wrong.
public let errSecAuthFailed: OSStatus = -25293
/// The data does not have the expected format.
public let errSecDecode: OSStatus = -26275
/// The data is encrypted with an algorithm that is not available.
public let errSecUnsupportedFormat: OSStatus = -25256
/// The archive was modified, or the password is wrong.
public let errSecPkcs12VerifyFailure: OSStatus = -25264
/// The certificate has expired.
public let errSecCertificateExpired: OSStatus = -67818
/// The certificate is for another host.
public let errSecHostNameMismatch: OSStatus = -67602
/// The certificate is not trusted.
public let errSecNotTrusted: OSStatus = -67843
/// No chain from the certificate to a root could be built.
public let errSecCreateChainFailed: OSStatus = -25318
/// The certificate is not valid yet.
public let errSecCertificateNotValidYet: OSStatus = -67819
/// The certificate was revoked.
public let errSecCertificateRevoked: OSStatus = -67820

/// A description of a status code in English, or nil for an unknown code. `reserved` must be nil.
@discardableResult
public func SecCopyErrorMessageString(_ status: OSStatus, _ reserved: UnsafeMutableRawPointer?) -> CFString? {
    text(of: status).map { $0 as NSString }
}

private func text(of status: OSStatus) -> String? {
    switch status {
    case errSecSuccess: "No error."
    case errSecParam: "A parameter is not valid."
    case errSecServiceNotAvailable: "The required service is not available: OpenSSL cannot be loaded."
    case errSecAuthFailed: "The password is not correct."
    case errSecDecode: "The data could not be decoded."
    case errSecUnsupportedFormat: "The data has a format or an encryption that is not supported."
    case errSecPkcs12VerifyFailure: "The archive could not be verified: it was changed, or the password is wrong."
    case errSecCertificateExpired: "The certificate has expired."
    case errSecHostNameMismatch: "The certificate belongs to another host."
    case errSecNotTrusted: "The certificate is not trusted."
    case errSecCreateChainFailed: "There is no chain from the certificate to a trusted root."
    case errSecCertificateNotValidYet: "The certificate is not valid yet."
    case errSecCertificateRevoked: "The certificate was revoked."
    default: nil
    }
}

extension NSError {
    /// The error for a status code. The reason is also in an underlying error, as on Apple platforms.
    static func status(_ status: OSStatus, _ description: String? = nil, reason: String? = nil) -> NSError {
        var info: [String: Any] = [:]
        info[NSLocalizedDescriptionKey] = description ?? text(of: status)
        info[NSLocalizedFailureReasonErrorKey] = reason
        info[NSUnderlyingErrorKey] = reason.map {
            NSError(
                domain: NSOSStatusErrorDomain, code: Int(status), userInfo: [NSLocalizedDescriptionKey: $0])
        }
        return NSError(domain: NSOSStatusErrorDomain, code: Int(status), userInfo: info)
    }
}
