/// What a server says about credentials it has taken (RFC 9110 §11.6.3, RFC 7616 §3.5).
package struct AuthenticationInfo: Sendable, Equatable {
    package var parameters: AuthenticationParameters

    /// Nil if there is no such field.
    package init?(_ fields: HTTPFields, of source: ChallengeSource) {
        guard let value = fields.combinedValue(source.infoField),
            value.utf8.count <= AuthenticationChallenge.Limit.length
        else { return nil }
        var reader = ChallengeReader(value)
        parameters = reader.parameters()
    }

    /// The nonce to use from now on.
    package var nextNonce: String? {
        guard let nonce = parameters["nextnonce"], !nonce.isEmpty, !DigestChallenge.hasControls(nonce) else {
            return nil
        }
        return nonce
    }
}
