/// Why a stream is broken.
package enum StreamFailure: Error, Equatable, Sendable {
    case posix(POSIXFailure)
    case tls(TLSError)

    /// The errno behind it, or 0.
    package var code: Int32 {
        switch self {
        case .posix(let failure): failure.code
        case .tls(let error): error.posix
        }
    }
}
