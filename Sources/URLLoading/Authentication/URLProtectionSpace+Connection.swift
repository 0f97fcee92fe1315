extension URLProtectionSpace {
    /// Whether a challenge for this space is one of the whole connection, which the session's method is asked about first
    /// (S-54).
    var concernsConnection: Bool {
        switch authenticationMethod {
        case NSURLAuthenticationMethodNTLM, NSURLAuthenticationMethodNegotiate,
            NSURLAuthenticationMethodClientCertificate, NSURLAuthenticationMethodServerTrust:
            true
        default: false
        }
    }
}
