package import LoadingSemantics

/// What a server asks of a task, for its client to answer.
package struct AuthenticationQuestion: Sendable {
    package let space: ProtectionSpace
    /// What the address says: a name, with or without a password.
    package let fromURL: (user: String, password: String?)?
    /// What was refused last in this space, whoever gave it.
    package let refused: LoadCredential?
    /// How many credentials the client gave for this space and saw refused (AUTH-9).
    package let failures: Int
    /// Whether only what is known already may answer, since the client has left it to the loader: nobody is asked.
    package let isQuiet: Bool
}
