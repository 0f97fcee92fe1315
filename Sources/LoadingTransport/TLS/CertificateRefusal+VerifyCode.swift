internal import LoadingSemantics

extension CertificateRefusal {
    /// The equivalent X509_V_ERR_ codes of OpenSSL, the primary one first. Refusals without an equivalent have a code
    /// above those of OpenSSL.
    var verifyCodes: [Int32] {
        switch self {
        case .unknownRoot: [20, 2, 18, 19, 21]
        case .selfSigned: [18, 2, 19, 20, 21]
        case .notYetValid: [9, 13]
        case .expired: [10, 14]
        case .badSignature: [7, 4, 6, 77, 78]
        case .malformed: [1000]
        case .unknownExtension: [34]
        case .unreadableExtension: [41]
        case .duplicateExtension: [1001]
        case .emptySubject: [1002]
        case .notAnAuthority: [79, 24, 32, 37]
        case .pathTooLong: [25]
        case .outsideConstraints: [48, 47]
        case .unsupportedConstraints: [51, 49, 52, 53]
        case .noPolicy: [43, 42]
        case .wrongPurpose: [26]
        case .wrongHost: [62, 64]
        case .weakKey: [66, 67]
        case .weakSignature: [68]
        case .lastsTooLong: [50]
        case .revoked: [23]
        case .unknownRevocation: [3]
        }
    }

    /// The refusal for a code of OpenSSL; nil if there is none.
    init?(verifyCode: Int32) {
        switch verifyCode {
        case 18: self = .selfSigned
        case 2, 19, 20, 21: self = .unknownRoot
        default:
            guard let refusal = Self.allCases.first(where: { $0.verifyCodes.contains(verifyCode) }) else { return nil }
            self = refusal
        }
    }
}

extension TLSError {
    /// The error for a refusal by `CertificateRules`.
    init(_ refusal: CertificateRefusal, _ reason: CertificateRefusalMessage) {
        // Each refusal has at least one code.
        self.init(code: refusal.code, reason: reason.text(refusal), verifyCode: refusal.verifyCodes[0])
    }

    /// The same error with a reason that names the rule and the certificate.
    func explained(_ reason: CertificateRefusalMessage) -> TLSError {
        var explained = self
        if let refusal = CertificateRefusal(verifyCode: verifyCode) { explained.reason = reason.text(refusal) }
        return explained
    }
}
