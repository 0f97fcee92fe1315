internal import CLoadingTLS

/// OpenSSL's SSL_CTX for a configuration. Creating the first one initializes OpenSSL.
///
/// Unchecked: OpenSSL locks the context internally, and it is not changed after its creation.
package final class TLSContext: @unchecked Sendable {
    let pointer: OpaquePointer
    package let configuration: TLSConfiguration
    /// Evaluates trust in the configured roots.
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
        // Initialization reads OpenSSL's configuration file.
        guard let pointer else {
            let shortage = DescriptorReserve.shortage
            throw shortage == 0 ? TLSError(failure) : .noDescriptor(shortage)
        }
        if TLSKeyLog.hasFile {
            clt_context_log_secrets(pointer) { _, line in
                if let line { TLSKeyLog.write(line) }
            }
        }
        self.pointer = pointer
        self.configuration = configuration
        self.evaluator = evaluator
    }

    deinit { clt_context_free(pointer) }
}
