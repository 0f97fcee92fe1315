internal import CLoadingTLS

/// The failure of a TLS connection: a code of `NSURLErrorDomain` and its cause.
package struct TLSError: Error, Equatable, Sendable {
    /// A code of `NSURLErrorDomain`.
    package var code: Int
    /// The cause in words, from OpenSSL or from `CertificateRefusalMessage`.
    package var reason: String
    /// The X509_V_ERR_ code of a certificate failure, else 0. Codes from 1000 on are those of
    /// `CertificateRefusal.verifyCodes`.
    package var verifyCode: Int32
    /// The errno of a lost connection, else 0. With `connectionLost`, 0 means that the peer closed the connection.
    package var posix: Int32
    /// Whether OpenSSL is missing. `reason` is then the message of the dynamic loader.
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

    /// If OpenSSL is missing, that is the cause.
    private mutating func blameLibrary() {
        guard let text = Self.libraryFailure else { return }
        reason = text
        isOfLibrary = true
    }

    /// Why OpenSSL cannot be loaded, with the file name; nil if it can.
    package static var libraryFailure: String? { clt_library_failure().map { String(cString: $0) } }

    /// The cause if OpenSSL returned no object: no free descriptor to load it, the library is missing, or there is not
    /// enough memory.
    package static func nothingMade() -> TLSError {
        let shortage = DescriptorReserve.shortage
        if shortage != 0 { return .noDescriptor(shortage) }
        var error = TLSError(code: secureConnectionFailed, reason: "out of memory")
        error.blameLibrary()
        return error
    }

    /// The installed OpenSSL lacks the algorithm that an archive is encrypted with.
    package static let unsupportedEncryption = TLSError(
        code: clientCertificateRejected,
        reason: "OpenSSL does not have the encryption of the archive; RC2, RC4 and DES need its legacy module")

    /// There was no free descriptor to read roots, so the certificate could not be evaluated.
    static func noDescriptor(_ code: Int32) -> TLSError {
        TLSError(code: secureConnectionFailed, reason: "no descriptor to read roots with", posix: code)
    }

    /// The error of a certificate evaluation (TLS-5).
    static func evaluation(_ failure: clt_failure) -> TLSError {
        TLSError(code: VerifyCode(rawValue: failure.verify)?.errorCode ?? certificateUntrusted, failure)
    }

    /// OpenSSL's verification results that have an error code of their own.
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

    /// Whether the only problem is the missing trusted root.
    static func isAboutRoot(verifyCode: Int32) -> Bool {
        switch VerifyCode(rawValue: verifyCode) {
        case .unableToGetIssuer, .selfSignedLeaf, .selfSignedInChain, .unableToGetIssuerLocally,
            .unableToVerifyLeafSignature:
            true
        case .expired, .notYetValid, nil: false
        }
    }

    /// The error of a connection, depending on the state of the client certificate (TLS-5).
    static func connection(_ failure: clt_failure, clientCertificate: ClientCertificateState) -> TLSError {
        if failure.posix != 0 { return TLSError(code: connectionLost, failure) }
        return TLSError(code: clientCertificate.errorCode(alert: failure.alert), failure)
    }

    static func endOfStream(_ failure: clt_failure) -> TLSError {
        TLSError(code: connectionLost, reason: "the peer closed the connection", posix: failure.posix)
    }
}
