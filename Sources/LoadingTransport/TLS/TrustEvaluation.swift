/// The result of a trust evaluation.
package enum TrustEvaluation: Equatable, Sendable {
    case trusted
    case rejected(TLSError)
}
