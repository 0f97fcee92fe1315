internal import Foundation
internal import LoadingSemantics
internal import LoadingTransport

/// What is wrong with a certificate and is to be overlooked, for that certificate alone.
struct SecTrustExceptions {
    private let certificate: [UInt8]
    private let verifyCode: Int32

    /// Nil if there is nothing to overlook, or nothing that may be.
    init?(_ outcome: SecTrust.Outcome, of certificate: SecCertificate?) {
        guard let certificate, let error = outcome.error, error.status != errSecCertificateRevoked else { return nil }
        self.certificate = Self.fingerprint(of: certificate)
        verifyCode = error.verifyCode
    }

    /// Reads what `encoded` wrote.
    init?(_ data: Data) {
        let bytes = [UInt8](data)
        guard bytes.count > 4 else { return nil }
        verifyCode = bytes.prefix(4).reduce(0) { $0 << 8 | Int32($1) }
        certificate = Array(bytes.dropFirst(4))
    }

    var encoded: Data {
        Data((0..<4).map { UInt8(truncatingIfNeeded: verifyCode >> (24 - 8 * $0)) } + certificate)
    }

    func cover(_ error: TLSError, of leaf: SecCertificate?) -> Bool {
        isAbout(leaf) && error.verifyCode == verifyCode && verifyCode != 0
    }

    func isAbout(_ leaf: SecCertificate?) -> Bool { leaf.map { Self.fingerprint(of: $0) } == certificate }

    private static func fingerprint(of certificate: SecCertificate) -> [UInt8] {
        MessageDigest.hash(.sha256, certificate.der) ?? certificate.der
    }
}
