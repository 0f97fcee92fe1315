internal import LoadingSemantics
internal import LoadingTransport

extension TLSConfiguration {
    /// The TLS configuration of a session's connections (C-19, TLS-11, CONN-2).
    init(_ session: SessionValues) {
        self.init()
        minimumVersion = TLSVersion(rawValue: session.tlsMinimumSupportedProtocolVersion.rawValue)
        maximumVersion = TLSVersion(rawValue: session.tlsMaximumSupportedProtocolVersion.rawValue)
        applicationProtocols =
            switch session.requiredHTTPVersion {
            case .http2: ["h2"]
            case .http10, .http11: ["http/1.1"]
            case .http3, nil: ["h2", "http/1.1"]
            }
    }
}
