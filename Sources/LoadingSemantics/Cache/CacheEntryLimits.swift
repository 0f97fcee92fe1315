/// How much room a cache has for one response (CACHE-3, CACHE-4).
package struct CacheEntryLimits: Sendable, Equatable {
    /// Where a response may be kept (CACHE-22).
    package struct Tiers: OptionSet, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        package static let memory = Tiers(rawValue: 1)
        package static let disk = Tiers(rawValue: 2)
    }

    /// The largest response of each tier, in bytes: a twentieth of what it holds.
    package let memoryLimit: Int64
    package let diskLimit: Int64

    /// Capacities in bytes; 0 is a tier that is not there.
    package init(memoryCapacity: Int64, diskCapacity: Int64) {
        memoryLimit = max(0, memoryCapacity) / 20
        diskLimit = max(0, diskCapacity) / 20
    }

    /// The tiers that take a response of that size, of those that are allowed.
    package func tiers(for size: Int64, allowed: Tiers) -> Tiers {
        var tiers = allowed
        if size > memoryLimit { tiers.remove(.memory) }
        if size > diskLimit { tiers.remove(.disk) }
        return tiers
    }

    /// Beyond this a body is not gathered any longer, since nothing would keep it (CACHE-31).
    package func limit(allowed: Tiers) -> Int64 {
        max(allowed.contains(.memory) ? memoryLimit : 0, allowed.contains(.disk) ? diskLimit : 0)
    }
}
