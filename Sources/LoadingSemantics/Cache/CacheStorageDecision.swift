/// What becomes of a response that came from the network.
package enum CacheStorageDecision: Sendable, Equatable {
    /// Stored in place of what its key and variant had.
    case store(StoredResponse)
    /// Not stored. An older response of its key is removed if this one has shown that it no longer holds.
    case discard(Reason, removesOlder: Bool)

    package enum Reason: Sendable, Equatable {
        /// Another method than GET, or another scheme than http and https (CACHE-1, CACHE-19).
        case notForCaches
        /// Answers a part or a condition of the caller's (CACHE-15, CACHE-20).
        case range
        case callersConditions
        /// CACHE-3
        case status
        case requestNoStore
        case noStore
        /// `must-understand`, and the status has rules that are not known here.
        case notUnderstood
        /// `Vary: *` (CACHE-18)
        case variesOnEverything
        /// Nothing says that it may be stored, and its status alone does not either.
        case notMarked
        case incomplete
    }
}
