/// One challenge of a server or proxy (RFC 9110 §11.3), of a known scheme or another.
package struct AuthenticationChallenge: Sendable, Equatable {
    /// How much of the fields is read at all. What a server sends beyond it is left aside.
    package enum Limit {
        /// Bytes of all fields together; a Kerberos token takes up to 64 KiB.
        package static let length = 128 << 10
        package static let challenges = 32
        package static let parametersOfEach = 32
    }

    /// In lower case.
    package var scheme: String
    /// What stands in place of parameters: the data of NTLM and Negotiate.
    package var token: String?
    package var parameters: AuthenticationParameters

    package init(scheme: String, token: String? = nil, parameters: [AuthenticationParameters.Parameter] = []) {
        self.scheme = scheme
        self.token = token
        self.parameters = AuthenticationParameters(parameters)
    }

    package var realm: String? { parameters["realm"] }

    /// The challenges in a response, in order (AUTH-15).
    ///
    /// Each field is read alone, so that a broken one harms no other.
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
