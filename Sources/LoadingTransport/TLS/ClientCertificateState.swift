/// The state of the server's request for a client certificate. Servers reject certificates by general alerts, whose
/// meaning depends on this state.
package enum ClientCertificateState {
    case notRequested
    case notProvided
    case provided
    /// OpenSSL rejected the certificate: its key is too weak, or the server does not accept its type.
    case unusable

    package func errorCode(alert: Int32) -> Int {
        switch (self, Alert(rawValue: alert)) {
        case (.unusable, _):
            TLSError.clientCertificateRejected
        case (.notRequested, _), (_, nil):
            TLSError.secureConnectionFailed
        case (_, .certificateRequired?), (.notProvided, .handshakeFailure?), (.notProvided, .badCertificate?):
            TLSError.clientCertificateRequired
        case (.notProvided, _):
            TLSError.secureConnectionFailed
        case (.provided, _):
            TLSError.clientCertificateRejected
        }
    }

    /// Alerts that may concern the client certificate (RFC 8446 §6.2).
    private enum Alert: Int32 {
        case handshakeFailure = 40
        case badCertificate = 42
        case unsupportedCertificate = 43
        case certificateRevoked = 44
        case certificateExpired = 45
        case certificateUnknown = 46
        case unknownCA = 48
        case accessDenied = 49
        case decryptError = 51
        case certificateRequired = 116
    }
}
