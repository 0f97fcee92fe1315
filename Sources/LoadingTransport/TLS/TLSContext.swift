internal import CLoadingTLS

/// What OpenSSL prepares once for all connections of a configuration. OpenSSL itself starts with the first one.
///
/// Unchecked: OpenSSL guards a context with a lock of its own, and nothing is set in it after its making.
package final class TLSContext: @unchecked Sendable {
    let pointer: OpaquePointer
    package let configuration: TLSConfiguration
    /// Trust in the configuration's roots.
    package let evaluator: TrustEvaluator

    package init(_ configuration: TLSConfiguration) throws(TLSError) {
        guard let protocols = TLSConfiguration.encoded(configuration.applicationProtocols) else {
            throw TLSError(code: TLSError.secureConnectionFailed, reason: "invalid application protocol")
        }
        let evaluator = try TrustEvaluator.evaluator(for: configuration.roots)
        var failure = clt_failure()
        let pointer = clt_context_new(
            configuration.minimumVersion.rawValue, configuration.maximumVersion.rawValue, protocols, protocols.count,
            configuration.allowsPostHandshakeAuthentication, &failure)
        // OpenSSL reads a file of its own.
        guard let pointer else {
            let shortage = DescriptorReserve.shortage
            throw shortage == 0 ? TLSError(failure) : .noDescriptor(shortage)
        }
        self.pointer = pointer
        self.configuration = configuration
        self.evaluator = evaluator
    }

    deinit { clt_context_free(pointer) }
}
