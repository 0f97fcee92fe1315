/// The answer to `TLSHandshakeStep.wantsTrust`.
package enum TLSTrustVerdict: Sendable {
    /// Whatever the chain is worth.
    case accept
    /// The evaluator trusts the chain at this time (seconds since 1970), but has not seen a stapled OCSP response yet.
    /// When one comes later in the handshake, as it does before TLS 1.3, it can still overturn the verdict.
    case acceptUnlessRevoked(by: TrustEvaluator, at: Int64)
    /// The handshake fails with this error.
    case reject(TLSError)
}
