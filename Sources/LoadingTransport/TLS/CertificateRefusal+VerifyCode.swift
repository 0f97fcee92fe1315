internal import LoadingSemantics

extension CertificateRefusal {
    /// The X509_V_ERR_ codes of OpenSSL that mean the same; the first is the one to tell. What OpenSSL knows nothing of
    /// is the application's own refusal.
    var verifyCodes: [Int32] {
        switch self {
        case .unknownRoot: [20, 2, 18, 19, 21]
        case .selfSigned: [18, 2, 19, 20, 21]
        case .notYetValid: [9, 13]
        case .expired: [10, 14]
        case .notAnAuthority: [79, 32]
        case .pathTooLong: [25]
        case .wrongPurpose: [26]
        case .wrongHost: [62, 64]
        case .weakKey: [66, 67]
        case .weakSignature: [68]
        case .lastsTooLong: [50]
        }
    }
}

extension TLSError {
    /// A chain that OpenSSL has no objection to, or not this one.
    init(_ refusal: CertificateRefusal) {
        // Each has a code at least.
        self.init(code: refusal.code, reason: refusal.rawValue, verifyCode: refusal.verifyCodes[0])
    }
}
