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
