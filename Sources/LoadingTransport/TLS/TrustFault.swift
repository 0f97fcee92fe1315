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

    /// One that the rules for servers have found. They judge the chain as a whole.
    init(_ refusal: CertificateRefusal) {
        error = TLSError(refusal)
        depth = 0
    }
}
