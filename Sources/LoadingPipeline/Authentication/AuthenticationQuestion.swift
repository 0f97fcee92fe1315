package import LoadingSemantics

/// A challenge for the client, and the credential that is proposed.
package struct AuthenticationQuestion: Sendable {
    package let space: ProtectionSpace
    /// The user of the URL, with or without a password.
    let fromURL: (user: String, password: String?)?
    /// The credential that was refused last in this space, from any source.
    let refused: LoadCredential?
    /// The number of the client's credentials that were refused in this space (AUTH-9).
    package let failures: Int
    /// Whether only known credentials may answer, because the client has chosen default handling. The delegate is not
    /// asked.
    package let isQuiet: Bool
    /// The credential of the store.
    package private(set) var stored: ProposedCredential?

    func proposing(_ stored: ProposedCredential?) -> Self {
        var copy = self
        copy.stored = stored
        return copy
    }

    /// The credential to try: the store's, else the URL's (AUTH-11). A credential that was already refused is only
    /// shown to the client.
    package var proposal: ProposedCredential? {
        let candidates = [stored, fromURL.map { ProposedCredential(user: $0.user, password: $0.password) }]
        let fresh = candidates.lazy.compactMap { $0 }.first { credential in
            refused.map { $0.user != credential.user || $0.password != credential.password } ?? true
        }
        if fresh != nil || failures == 0 { return fresh }
        return refused.map { ProposedCredential(user: $0.user, password: $0.password, object: $0.object) }
    }
}

/// The client's answer to an `AuthenticationQuestion`.
package enum AuthenticationAnswer: Sendable {
    case credential(LoadCredential)
    /// Continue without a credential: the challenge is the result (AUTH-29).
    case nothing
    /// Known credentials of the other spaces may be used. If there are none, this is equivalent to `nothing` (AUTH-7).
    case defaultHandling
    /// Continue with the next space (AUTH-5).
    case nextSpace
}
