/// Whether a response from the network is stored.
package enum CacheStorageDecision: Sendable, Equatable {
    /// Replaces the stored response of the same key and variant.
    case store(StoredResponse)
    /// Not stored. `removesOlder` is true if the response shows that the stored one is outdated.
    case discard(Reason, removesOlder: Bool)

    package enum Reason: Sendable, Equatable {
        /// The method is not GET, or the scheme is neither http nor https (CACHE-1, CACHE-19).
        case notCacheable
        /// The request has `Range`, or conditional fields of the caller (CACHE-15, CACHE-20).
        case range
        case conditionalRequest
        /// CACHE-3
        case status
        case requestNoStore
        case noStore
        /// `must-understand`, with a status whose requirements are not implemented.
        case notUnderstood
        /// `Vary: *` (CACHE-18)
        case variesOnEverything
        /// Neither the fields nor the status allow storing.
        case notMarked
        case incomplete
        /// CACHE-31
        case tooLarge
    }
}
