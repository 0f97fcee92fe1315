/// The effect of a response on the redirects of its task.
package enum RedirectDecision: Sendable, Equatable {
    /// The response is the result of the task.
    case notARedirect
    case follow(RedirectedRequest)
    /// The limit is exceeded. The URL is the target that is not loaded.
    case tooMany(url: String)
}
