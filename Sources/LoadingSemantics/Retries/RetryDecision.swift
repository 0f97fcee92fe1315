/// What becomes of a request whose connection was lost.
package enum RetryDecision: Sendable, Equatable {
    /// On a new connection: another idle one may be as stale.
    case retry
    /// The same, after so many nanoseconds.
    case retryAfter(Int64)
    case fail(LoadError)
}
