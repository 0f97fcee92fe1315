/// Why the cache decides as it does, for the event log and for tests.
package enum CacheReason: Sendable, Equatable {
    /// The policy of the load asks for it.
    case policy
    /// The session has no cache (C-27).
    case noCacheThere
    /// Neither stored nor served: another method than GET, or another scheme than http and https.
    case notForCaches
    /// A part is asked for (CACHE-20).
    case range
    /// The caller makes conditions of his own (CACHE-15).
    case callersConditions
    case nothingStored
    /// What is stored answers requests with other fields (CACHE-18).
    case otherVariant
    case fresh
    /// Stale, as the request allows.
    case staleAllowed
    case stale
    /// Older, or not fresh for as long, as the request wants.
    case notFreshEnough
    /// The request wants an answer of the origin.
    case requestNoCache
    /// The response wants to be validated each time.
    case responseNoCache
    /// A response to HEAD contradicts it.
    case doubted
    /// By the clock it has not come yet.
    case clockWentBack
}
