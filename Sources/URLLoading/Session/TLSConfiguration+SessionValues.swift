internal import LoadingTransport

extension TLSConfiguration {
    /// What a session's connections may negotiate (C-19, TLS-11, CONN-2).
    init(_ session: SessionValues) {
        self.init()
        minimumVersion = TLSVersion(rawValue: session.tlsMinimumSupportedProtocolVersion.rawValue)
        maximumVersion = TLSVersion(rawValue: session.tlsMaximumSupportedProtocolVersion.rawValue)
        applicationProtocols = ["h2", "http/1.1"]
    }
}
