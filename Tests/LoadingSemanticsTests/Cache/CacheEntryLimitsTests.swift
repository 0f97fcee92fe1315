import LoadingSemantics
import Testing

@Suite struct CacheEntryLimitsTests {
    private static let both: CacheEntryLimits.Tiers = [.memory, .disk]

    // CACHE-3, CACHE-4, CACHE-22
    @Test(
        arguments: [
            (5, both, both), (6, both, [.disk]), (10, both, [.disk]), (11, both, []), (5, [.memory], [.memory]),
            (6, [.memory], []), (5, [], []),
        ] as [(Int64, CacheEntryLimits.Tiers, CacheEntryLimits.Tiers)])
    func entryLimitIsTwentiethOfCapacity(size: Int64, allowed: CacheEntryLimits.Tiers, tiers: CacheEntryLimits.Tiers) {
        #expect(CacheEntryLimits(memoryCapacity: 100, diskCapacity: 200).tiers(for: size, allowed: allowed) == tiers)
    }

    // CACHE-22: a tier that is a part of the other would be removed together with it.
    @Test func tiersAreSeparate() {
        #expect(!CacheEntryLimits.Tiers.memory.isEmpty)
        #expect(!CacheEntryLimits.Tiers.disk.isEmpty)
        #expect(CacheEntryLimits.Tiers.memory.isDisjoint(with: .disk))
    }

    // CACHE-4: a response that is too large for the disk may be stored in memory.
    @Test func moreMemoryThanDisk() {
        let limits = CacheEntryLimits(memoryCapacity: 200, diskCapacity: 100)
        #expect(limits.tiers(for: 10, allowed: Self.both) == .memory)
        #expect(limits.tiers(for: 5, allowed: Self.both) == Self.both)
    }

    // CACHE-24, CACHE-29: a tier of no capacity is not there.
    @Test(arguments: [0, -1, Int64.min])
    func noCapacity(capacity: Int64) {
        let none = CacheEntryLimits(memoryCapacity: capacity, diskCapacity: capacity)
        #expect(none.tiers(for: 1, allowed: Self.both) == [])
        let memory = CacheEntryLimits(memoryCapacity: 100, diskCapacity: capacity)
        #expect(memory.tiers(for: 1, allowed: Self.both) == .memory)
    }

    // CACHE-31
    @Test func bodyLimit() {
        let limits = CacheEntryLimits(memoryCapacity: 100, diskCapacity: 200)
        #expect(limits.limit == 10)
        #expect(CacheEntryLimits(memoryCapacity: 100, diskCapacity: 0).limit == 5)
        #expect(CacheEntryLimits(memoryCapacity: 0, diskCapacity: 0).limit == 0)
    }
}
