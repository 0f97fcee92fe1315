/// `Authentication-Info`: what a server sends after it has accepted credentials (RFC 9110 §11.6.3, RFC 7616 §3.5).
package struct AuthenticationInfo: Sendable, Equatable {
    package var parameters: AuthenticationParameters

    /// Returns nil if the field is absent or too long.
    package init?(_ fields: HTTPFields, of source: ChallengeSource) {
        guard let value = fields.combinedValue(source.infoField),
            value.utf8.count <= AuthenticationChallenge.Limit.length
        else { return nil }
        var reader = ChallengeReader(value)
        parameters = reader.parameters()
    }

    /// The nonce for the next request.
    package var nextNonce: String? {
        guard let nonce = parameters["nextnonce"], !nonce.isEmpty, !DigestChallenge.hasControls(nonce) else {
            return nil
        }
        return nonce
    }
}

extension HTTPFields {
    /// Whether a forwarding proxy declares session-based authentication: it does not send requests of other users over
    /// an authenticated connection (RFC 4559 §6).
    package var supportsSessionBasedAuthentication: Bool {
        values("Proxy-Support").contains { value in
            value.utf8.split(separator: UInt8(ascii: ",")).contains {
                OptionalWhitespace.trimmed($0).map(asciiLowercase) == Array("session-based-authentication".utf8)
            }
        }
    }
}
