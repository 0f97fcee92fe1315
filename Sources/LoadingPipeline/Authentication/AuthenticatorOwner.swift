internal import LoadingSemantics

/// Who speaks to a server or proxy on behalf of a load. Called on the load's loop.
protocol AuthenticatorOwner: AnyObject {
    /// Whether a credential that was accepted may be sent there again.
    func authenticator(_ authenticator: Authenticator, mayUse credential: LoadCredential, for space: ProtectionSpace)
        -> Bool
    /// Somebody has to be asked; `Authenticator.take` has the answer.
    func authenticator(_ authenticator: Authenticator, asks question: AuthenticationQuestion)
    /// A step of a conversation is made. `isBound`: what comes of it is understood on the same connection alone. `identity`:
    /// whose connection it proves.
    func authenticator(_ authenticator: Authenticator, goesOn isBound: Bool, as identity: UInt64)
    func authenticator(_ authenticator: Authenticator, hasUsed credential: LoadCredential, for space: ProtectionSpace)
    /// What becomes of the response that has asked. That may be told before `isAsked` returns.
    func authenticator(_ authenticator: Authenticator, hasFound verdict: Authenticator.Verdict)
}
