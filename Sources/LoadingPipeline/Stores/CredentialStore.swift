package import LoadingSemantics

/// The credentials of a session. Called on the loop of its loads; must not block.
package protocol CredentialStore: AnyObject {
    /// The credential to propose in a space. After `.later`, the load waits for `lookup`.
    func defaultCredential(
        for space: ProtectionSpace, of client: any LoadClient, _ lookup: PendingLookup<ProposedCredential?>
    ) -> ClientAnswer<ProposedCredential?>
    /// A server or proxy has accepted a credential from the client that may be stored (AUTH-22).
    func store(_ credential: LoadCredential, for space: ProtectionSpace, of client: any LoadClient)
    /// Whether a credential that was accepted may be sent to the space again.
    func mayUse(_ credential: LoadCredential, for space: ProtectionSpace) -> Bool
}

/// A credential that is proposed to the client.
package struct ProposedCredential: Sendable {
    package let user: String?
    /// Nil if the client has to add it.
    package let password: String?
    /// The object that identifies the credential to the store.
    package let object: (any AnyObject & Sendable)?

    package init(user: String?, password: String?, object: (any AnyObject & Sendable)? = nil) {
        self.user = user
        self.password = password
        self.object = object
    }
}

extension LoadingEnvironment {
    /// Asks the store to propose a credential, then the client.
    ///
    /// - Parameter ask: Called at once, or on the loop unless the result is withdrawn.
    func lookUpCredential(
        for question: AuthenticationQuestion, of client: any LoadClient,
        _ ask: @escaping (AuthenticationQuestion) -> Void
    ) -> PendingLookup<ProposedCredential?>? {
        guard let credentials else {
            ask(question)
            return nil
        }
        let lookup = PendingLookup<ProposedCredential?>(on: loop) { ask(question.proposing($0)) }
        guard case .now(let stored) = credentials.defaultCredential(for: question.space, of: client, lookup) else {
            return lookup
        }
        ask(question.proposing(stored))
        return nil
    }
}
