/// The largest response that a cache stores (CACHE-3, CACHE-4).
package struct CacheEntryLimits: Sendable, Equatable {
    /// Where a response may be stored (CACHE-22).
    package struct Tiers: OptionSet, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        package static let memory = Tiers(rawValue: 1)
        package static let disk = Tiers(rawValue: 2)
        /// Both. Another module would make an array of them.
        package static let all = Tiers(rawValue: 3)
    }

    /// In bytes: a twentieth of the capacity of the tier.
    package let memoryLimit: Int64
    package let diskLimit: Int64

    /// In bytes; 0 means that there is no such tier.
    package init(memoryCapacity: Int64, diskCapacity: Int64) {
        memoryLimit = max(0, memoryCapacity) / 20
        diskLimit = max(0, diskCapacity) / 20
    }

    /// The allowed tiers that accept a response of that size.
    package func tiers(for size: Int64, allowed: Tiers) -> Tiers {
        var tiers = allowed
        if size > memoryLimit { tiers.remove(.memory) }
        if size > diskLimit { tiers.remove(.disk) }
        return tiers
    }

    /// The largest body worth collecting: no tier stores a larger one (CACHE-31).
    package var limit: Int64 { max(memoryLimit, diskLimit) }
}
