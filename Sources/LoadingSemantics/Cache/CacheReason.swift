/// The reason of a cache decision, for traces and tests.
package enum CacheReason: Sendable, Equatable {
    /// The cache policy of the load.
    case policy
    /// The session has no cache (C-27).
    case noCache
    /// The method is not GET, or the scheme is neither http nor https.
    case notCacheable
    /// The request has `Range` (CACHE-20).
    case range
    /// The caller has set conditional fields (CACHE-15).
    case conditionalRequest
    case nothingStored
    /// The stored responses are for requests with other field values (CACHE-18).
    case otherVariant
    case fresh
    /// Stale, but the request allows it (`max-stale`).
    case staleAllowed
    case stale
    /// Older than `max-age`, or fresh for less than `min-fresh`.
    case notFreshEnough
    /// `no-cache` in the request.
    case requestNoCache
    /// `no-cache` in the response.
    case responseNoCache
    /// A response to HEAD or another variant contradicts the stored one.
    case needsValidation
    /// The response was received in the future of the present clock.
    case clockMovedBack
}
