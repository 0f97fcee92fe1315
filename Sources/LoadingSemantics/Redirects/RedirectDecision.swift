/// What a response means for the way of its task.
package enum RedirectDecision: Sendable, Equatable {
    /// The response is the result.
    case notARedirect
    case follow(RedirectedRequest)
    /// One hop more than allowed; the URL is where it would have gone.
    case tooMany(url: String)
}
