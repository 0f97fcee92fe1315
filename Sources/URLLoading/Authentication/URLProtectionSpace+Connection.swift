extension URLProtectionSpace {
    /// Whether challenges of this space are connection-level. The session's delegate method gets these first (S-54).
    var concernsConnection: Bool {
        switch authenticationMethod {
        case NSURLAuthenticationMethodNTLM, NSURLAuthenticationMethodNegotiate,
            NSURLAuthenticationMethodClientCertificate, NSURLAuthenticationMethodServerTrust:
            true
        default: false
        }
    }
}
