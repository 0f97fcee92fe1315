internal import LoadingProtocols
package import LoadingSemantics
package import LoadingTransport

extension LoadError {
    /// What the failure of an established connection means to a load (ERR-5).
    package init(_ failure: StreamFailure) {
        switch failure {
        case .posix(let failure): self = .networkConnectionLost(failure.code)
        case .tls(let error): self = LoadError(error)
        }
    }

    /// What the failure of a handshake means to a load (TLS-5).
    init(_ error: TLSError) {
        self.init(
            code: error.code,
            cause: error.posix != 0 ? .posix(error.posix) : .tls(code: Int(error.verifyCode), text: error.reason))
    }

    /// A request that must not be written: part of it would be read as something else.
    init(_ error: HTTP1EncodingError) {
        self.init(code: LoadError.badURL.code, cause: .http(String(describing: error)))
    }
}
