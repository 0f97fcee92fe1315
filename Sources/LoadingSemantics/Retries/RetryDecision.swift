/// What happens to a request whose connection was lost.
package enum RetryDecision: Sendable, Equatable {
    /// Retry on a new connection, because another idle one may be stale too.
    case retry
    /// The same after a pause in nanoseconds.
    case retryAfter(Int64)
    case fail(LoadError)
}
