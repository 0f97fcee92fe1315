/// Why a stream is broken.
package enum StreamFailure: Error, Equatable, Sendable {
    case posix(POSIXFailure)
    case tls(TLSError)
}
