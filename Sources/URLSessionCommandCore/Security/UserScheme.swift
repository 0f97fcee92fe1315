import URLLoading

/// The schemes that a user can be known by, as the switches name them.
package enum UserScheme: String, Sendable, CaseIterable {
    case basic, digest, negotiate, ntlm

    var method: String {
        switch self {
        case .basic: NSURLAuthenticationMethodHTTPBasic
        case .digest: NSURLAuthenticationMethodHTTPDigest
        case .negotiate: NSURLAuthenticationMethodNegotiate
        case .ntlm: NSURLAuthenticationMethodNTLM
        }
    }
}
