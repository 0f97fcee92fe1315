package import LoadingSemantics

/// A challenge for the client, and the credential that is proposed.
package struct AuthenticationQuestion: Sendable {
    package let space: ProtectionSpace
    /// The user of the URL, with or without a password.
    let fromURL: (user: String, password: String?)?
    /// The credential that was refused last in this space, from whatever source.
    let refused: LoadCredential?
    /// The number of credentials of the client that were refused in this space (AUTH-9).
    package let failures: Int
    /// Whether only what is known already may answer, because the client has chosen default handling: no delegate is asked.
    package let isQuiet: Bool
    /// The credential of the store.
    package private(set) var stored: ProposedCredential?

    init(
        space: ProtectionSpace, fromURL: (user: String, password: String?)?, refused: LoadCredential?, failures: Int,
        isQuiet: Bool
    ) {
        self.space = space
        self.fromURL = fromURL
        self.refused = refused
        self.failures = failures
        self.isQuiet = isQuiet
    }

    func proposing(_ stored: ProposedCredential?) -> Self {
        var copy = self
        copy.stored = stored
        return copy
    }

    /// The credential to try: the store's, else the URL's (AUTH-11). A credential that was refused already is only shown, so that
    /// the client knows which it was.
    package var proposal: ProposedCredential? {
        let candidates = [stored, fromURL.map { ProposedCredential(user: $0.user, password: $0.password) }]
        let fresh = candidates.lazy.compactMap { $0 }.first { credential in
            refused.map { $0.user != credential.user || $0.password != credential.password } ?? true
        }
        if fresh != nil || failures == 0 { return fresh }
        return refused.map { ProposedCredential(user: $0.user, password: $0.password, object: $0.object) }
    }
}

/// What the client says to an `AuthenticationQuestion`.
package enum AuthenticationAnswer: Sendable {
    case credential(LoadCredential)
    /// Go on without: the response that asked is the result (AUTH-29).
    case nothing
    /// What is known of the other spaces may still serve; if nothing is, as `nothing` (AUTH-7).
    case defaultHandling
    /// Ask for the next space (AUTH-5).
    case nextSpace
}
