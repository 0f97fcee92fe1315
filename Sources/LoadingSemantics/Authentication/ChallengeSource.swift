/// The origin server or a proxy, and the fields in which each exchanges challenges and credentials (RFC 9110 §11.6,
/// §11.7).
package enum ChallengeSource: Sendable {
    case server
    case proxy

    /// The source of a challenge with that status; nil if the status is neither 401 nor 407.
    package init?(status: Int) {
        switch status {
        case 401: self = .server
        case 407: self = .proxy
        default: return nil
        }
    }

    package var challengeField: String { self == .server ? "WWW-Authenticate" : "Proxy-Authenticate" }
    package var credentialField: String { self == .server ? "Authorization" : "Proxy-Authorization" }
    package var infoField: String { self == .server ? "Authentication-Info" : "Proxy-Authentication-Info" }
}
