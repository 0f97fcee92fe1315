internal import CLoadingTLS
internal import LoadingSemantics

/// One fault of a certificate chain.
package struct TrustFault: Equatable, Sendable {
    /// The error of an evaluation that stops at this fault.
    package let error: TLSError
    /// The index of the certificate at fault; 0 for the leaf.
    package let depth: Int

    init(_ fault: clt_fault) {
        error = .evaluation(clt_failure(alert: -1, posix: 0, verify: fault.verify, reason: fault.reason))
        depth = Int(fault.depth)
    }

    /// A fault found by `CertificateRules`, which apply to the chain as a whole.
    init(_ refusal: CertificateRefusal, _ reason: CertificateRefusalMessage) {
        self.init(error: TLSError(refusal, reason), depth: 0)
    }

    private init(error: TLSError, depth: Int) { (self.error, self.depth) = (error, depth) }

    /// Whether the fault is that no trusted root was found.
    package var isAboutRoot: Bool { TLSError.isAboutRoot(verifyCode: error.verifyCode) }

    /// The same fault with a message that names the rule.
    func explained(_ reason: CertificateRefusalMessage) -> TrustFault {
        TrustFault(error: error.explained(reason), depth: depth)
    }
}
