/// Who wants credentials, and in which fields they talk about them (RFC 9110 §11.6, §11.7).
package enum ChallengeSource: Sendable {
    case server
    case proxy

    /// The source behind a status, or nil if that status asks for nothing.
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
