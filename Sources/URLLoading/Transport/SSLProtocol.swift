/// A TLS version in Apple's older API. Replaced by ``tls_protocol_version_t``.
@frozen public enum SSLProtocol: Int32, Sendable {
    /// No version.
    case sslProtocolUnknown = 0
    /// SSL 2.0. Not supported.
    case sslProtocol2 = 1
    /// SSL 3.0. Not supported.
    case sslProtocol3 = 2
    /// Only SSL 3.0. Not supported.
    case sslProtocol3Only = 3
    /// TLS 1.0.
    case tlsProtocol1 = 4
    /// Only TLS 1.0.
    case tlsProtocol1Only = 5
    /// All versions.
    case sslProtocolAll = 6
    /// TLS 1.1.
    case tlsProtocol11 = 7
    /// TLS 1.2.
    case tlsProtocol12 = 8
    /// DTLS 1.0. Not used by loads.
    case dtlsProtocol1 = 9
    /// TLS 1.3.
    case tlsProtocol13 = 10
    /// DTLS 1.2. Not used by loads.
    case dtlsProtocol12 = 11
    /// The latest supported version: TLS 1.3.
    case tlsProtocolMaxSupported = 999

    init(_ version: tls_protocol_version_t) {
        self =
            switch version {
            case .TLSv10: .tlsProtocol1
            case .TLSv11: .tlsProtocol11
            case .TLSv12: .tlsProtocol12
            case .TLSv13: .tlsProtocol13
            case .DTLSv10: .dtlsProtocol1
            case .DTLSv12: .dtlsProtocol12
            }
    }

    /// The same version as ``tls_protocol_version_t``; nil for what is no version, or not supported.
    var version: tls_protocol_version_t? {
        switch self {
        case .sslProtocolUnknown, .sslProtocol2, .sslProtocol3, .sslProtocol3Only, .sslProtocolAll: nil
        case .tlsProtocol1, .tlsProtocol1Only: .TLSv10
        case .tlsProtocol11: .TLSv11
        case .tlsProtocol12: .TLSv12
        case .tlsProtocol13, .tlsProtocolMaxSupported: .TLSv13
        case .dtlsProtocol1: .DTLSv10
        case .dtlsProtocol12: .DTLSv12
        }
    }
}
