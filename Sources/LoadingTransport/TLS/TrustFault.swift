internal import CLoadingTLS
internal import LoadingSemantics

/// Something that is wrong with a certificate chain.
package struct TrustFault: Equatable, Sendable {
    /// What an evaluation fails with that stops here.
    package let error: TLSError
    /// Of the certificate that is at fault: 0 for the leaf.
    package let depth: Int

    init(_ fault: clt_fault) {
        error = .evaluation(clt_failure(alert: -1, posix: 0, verify: fault.verify, reason: fault.reason))
        depth = Int(fault.depth)
    }

    /// One that the rules have found. They judge the chain as a whole.
    init(_ refusal: CertificateRefusal, _ reason: CertificateRefusalMessage) {
        self.init(error: TLSError(refusal, reason), depth: 0)
    }

    private init(error: TLSError, depth: Int) { (self.error, self.depth) = (error, depth) }

    /// The same in words that say which rule it is.
    func explained(_ reason: CertificateRefusalMessage) -> TrustFault {
        TrustFault(error: error.explained(reason), depth: depth)
    }
}
