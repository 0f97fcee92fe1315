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
