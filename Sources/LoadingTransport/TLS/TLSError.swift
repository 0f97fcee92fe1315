internal import CLoadingTLS

/// Why a TLS connection failed: a code of Apple's URL error domain, and what is behind it.
package struct TLSError: Error, Equatable, Sendable {
    /// A code of NSURLErrorDomain.
    package var code: Int
    /// The cause in words: OpenSSL's own, or of a certificate the rule that refuses it.
    package var reason: String
    /// The X509_V_ERR_ code when a certificate was at fault, else 0. Above 1000 it is one of
    /// `CertificateRefusal.verifyCodes`.
    package var verifyCode: Int32
    /// The errno when the connection was lost, else 0. Zero with `connectionLost`: the peer closed it.
    package var posix: Int32
    /// Whether OpenSSL itself is missing. The reason is what the system's loader says then.
    package var isOfLibrary = false

    package init(code: Int, reason: String, verifyCode: Int32 = 0, posix: Int32 = 0) {
        self.code = code
        self.reason = reason
        self.verifyCode = verifyCode
        self.posix = posix
    }

    package static let connectionLost = -1005
    package static let secureConnectionFailed = -1200
    package static let certificateHasBadDate = -1201
    package static let certificateUntrusted = -1202
    package static let certificateHasUnknownRoot = -1203
    package static let certificateNotYetValid = -1204
    package static let clientCertificateRejected = -1205
    package static let clientCertificateRequired = -1206
}

extension TLSError {
    init(code: Int = TLSError.secureConnectionFailed, _ failure: clt_failure) {
        self.init(
            code: code, reason: failure.reason.map { String(cString: $0) } ?? "", verifyCode: failure.verify,
            posix: failure.posix)
        if failure.posix == 0, failure.verify == 0 { blameLibrary() }
    }

    /// Without OpenSSL nothing else is the cause.
    private mutating func blameLibrary() {
        guard let text = Self.libraryFailure else { return }
        reason = text
        isOfLibrary = true
    }

    /// Why OpenSSL cannot be loaded, with the name of the file; nil if it can.
    package static var libraryFailure: String? { clt_library_failure().map { String(cString: $0) } }

    /// OpenSSL has made nothing of what it was asked for: there is no descriptor to load it with, it is not there, or there is
    /// no memory.
    package static func nothingMade() -> TLSError {
        let shortage = DescriptorReserve.shortage
        if shortage != 0 { return .noDescriptor(shortage) }
        var error = TLSError(code: secureConnectionFailed, reason: "out of memory")
        error.blameLibrary()
        return error
    }

    /// There was no descriptor left to read roots with: nothing is known of the certificate.
    static func noDescriptor(_ code: Int32) -> TLSError {
        TLSError(code: secureConnectionFailed, reason: "no descriptor to read roots with", posix: code)
    }

    /// The failure of a certificate evaluation (TLS-5).
    static func evaluation(_ failure: clt_failure) -> TLSError {
        TLSError(code: VerifyCode(rawValue: failure.verify)?.errorCode ?? certificateUntrusted, failure)
    }

    /// The results of OpenSSL's certificate verification that have an error code of their own.
    private enum VerifyCode: Int32 {
        case unableToGetIssuer = 2
        case notYetValid = 9
        case expired = 10
        case selfSignedLeaf = 18
        case selfSignedInChain = 19
        case unableToGetIssuerLocally = 20
        case unableToVerifyLeafSignature = 21

        var errorCode: Int {
            switch self {
            case .expired: certificateHasBadDate
            case .notYetValid: certificateNotYetValid
            case .selfSignedLeaf: certificateUntrusted
            case .unableToGetIssuer, .selfSignedInChain, .unableToGetIssuerLocally, .unableToVerifyLeafSignature:
                certificateHasUnknownRoot
            }
        }
    }

    /// Whether the verification found everything but a root to trust.
    static func isAboutRoot(verifyCode: Int32) -> Bool {
        switch VerifyCode(rawValue: verifyCode) {
        case .unableToGetIssuer, .selfSignedLeaf, .selfSignedInChain, .unableToGetIssuerLocally,
            .unableToVerifyLeafSignature:
            true
        case .expired, .notYetValid, nil: false
        }
    }

    /// What the connection's failure means, given what became of the server's wish for a client certificate (TLS-5).
    static func connection(_ failure: clt_failure, clientCertificate: ClientCertificateState) -> TLSError {
        if failure.posix != 0 { return TLSError(code: connectionLost, failure) }
        return TLSError(code: clientCertificate.errorCode(alert: failure.alert), failure)
    }

    static func endOfStream(_ failure: clt_failure) -> TLSError {
        TLSError(code: connectionLost, reason: "the peer closed the connection", posix: failure.posix)
    }
}
