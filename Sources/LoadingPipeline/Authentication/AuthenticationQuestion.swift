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

package enum AuthenticationAnswer: Sendable {
    case credential(LoadCredential)
    /// Go on without: the response that asked is the result (AUTH-29).
    case nothing
    /// What is known of the other spaces may still serve; if nothing is, as `nothing` (AUTH-7).
    case defaultHandling
    /// Ask for the next space (AUTH-5).
    case nextSpace
}
