/// Whether the server of a new connection is trusted, and what decided that.
package struct ServerTrustResult: Sendable, Equatable, Codable {
    package enum Decider: String, Sendable, Codable {
        /// The certificates lead to a root of the system, which includes those of the administrator.
        case system
        /// They lead to an authority that the session adds.
        case additionalAuthority
        /// The delegate answered the challenge.
        case delegate
        /// The default evaluation refused the certificates.
        case evaluation
        /// App Transport Security refused what a delegate or the evaluation accepted.
        case transportSecurity
    }

    /// The name that the certificate must have.
    package let host: String
    package let decider: Decider
    package let isTrusted: Bool
    /// Why the server is not trusted. A delegate gives no reason.
    package let reason: String?

    private init(host: String, decider: Decider, isTrusted: Bool, reason: String?) {
        self.host = host
        self.decider = decider
        self.isTrusted = isTrusted
        self.reason = reason
    }

    package static func trusted(_ host: String, by decider: Decider) -> ServerTrustResult {
        ServerTrustResult(host: host, decider: decider, isTrusted: true, reason: nil)
    }

    package static func refused(_ host: String, by decider: Decider, reason: String? = nil) -> ServerTrustResult {
        ServerTrustResult(host: host, decider: decider, isTrusted: false, reason: reason)
    }
}
