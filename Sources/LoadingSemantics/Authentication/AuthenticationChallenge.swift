/// One challenge of a server or proxy (RFC 9110 §11.3), of a supported scheme or not.
package struct AuthenticationChallenge: Sendable, Equatable {
    /// Limits of parsing. Anything beyond them is ignored.
    package enum Limit {
        /// Bytes of all fields together. A Kerberos token takes up to 64 KiB.
        package static let length = 128 << 10
        package static let challenges = 32
        package static let parametersOfEach = 32
    }

    /// In lower case.
    package var scheme: String
    /// A token68 in place of parameters: the data of NTLM and Negotiate.
    package var token: String?
    package var parameters: AuthenticationParameters

    package init(scheme: String, token: String? = nil, parameters: [AuthenticationParameters.Parameter] = []) {
        self.scheme = scheme
        self.token = token
        self.parameters = AuthenticationParameters(parameters)
    }

    package var realm: String? { parameters["realm"] }

    /// The challenges of a response, in order (AUTH-15).
    ///
    /// Each field line is parsed separately, so a malformed one does not affect the others.
    package static func all(in fields: HTTPFields, of source: ChallengeSource) -> [AuthenticationChallenge] {
        var result: [AuthenticationChallenge] = []
        var length = 0
        for value in fields.values(source.challengeField) {
            length += value.utf8.count
            if length > Limit.length { break }
            var reader = ChallengeReader(value)
            result += reader.challenges()
            if result.count >= Limit.challenges { break }
        }
        return Array(result.prefix(Limit.challenges))
    }
}

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

    /// Whether a response with this status shows that the source has accepted the credentials of its request (AUTH-22).
    /// A gateway in front of the server may have made an error of its own, and a busy server may reject a request
    /// before it checks it. A proxy makes the errors of the next hop after it has checked the user.
    package func hasAccepted(_ status: Int) -> Bool {
        switch status {
        case 401: self == .proxy
        case 407, 408, 429, 503: false
        case 502, 504: self == .proxy
        default: true
        }
    }

    package var challengeField: String { self == .server ? "WWW-Authenticate" : "Proxy-Authenticate" }
    package var credentialField: String { self == .server ? "Authorization" : "Proxy-Authorization" }
    package var infoField: String { self == .server ? "Authentication-Info" : "Proxy-Authentication-Info" }
}
