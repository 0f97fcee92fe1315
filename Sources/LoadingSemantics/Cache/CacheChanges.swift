/// The order of loads and of changes to stored responses, in a fixed amount of memory.
///
/// If the stored response was removed after a request was sent, the response to the request may be older than the
/// reason for the removal, such as a request with an unsafe method (RFC 9111 §4.4). If another was stored meanwhile,
/// the more recent of the two counts (RFC 9111 §4).
package struct CacheChanges: Sendable {
    /// The number of changes. A load notes it before it sends its request.
    package private(set) var count: UInt64 = 0
    /// The last removal, the last one by a load, and the last storing of a key with that hash, as values of `count`.
    /// Keys that share a place cost at most one load more than necessary. Empty before the first change.
    private var removals: [UInt64] = []
    private var invalidations: [UInt64] = []
    private var stores: [UInt64] = []
    private var lastRemovalOfAll: UInt64 = 0

    private static let places = 4096

    package init() {}

    package mutating func note(removed keys: [CacheKey]) {
        if keys.isEmpty { return }
        count &+= 1
        for key in keys { Self.note(count, key, in: &removals) }
    }

    /// Notes a removal by a load: the resource may have changed.
    package mutating func note(invalidated keys: [CacheKey]) {
        if keys.isEmpty { return }
        note(removed: keys)
        for key in keys { Self.note(count, key, in: &invalidations) }
    }

    package mutating func noteRemovalOfAll() {
        count &+= 1
        lastRemovalOfAll = count
    }

    package mutating func note(stored key: CacheKey) {
        count &+= 1
        Self.note(count, key, in: &stores)
    }

    /// Whether the response for the key was removed since `count` had that value.
    package func includeRemoval(of key: CacheKey, since count: UInt64) -> Bool {
        if self.count == count { return false }
        return lastRemovalOfAll > count || Self.last(key, in: removals) > count
    }

    /// Whether a load has removed the response for the key since `count` had that value.
    package func includeInvalidation(of key: CacheKey, since count: UInt64) -> Bool {
        self.count != count && Self.last(key, in: invalidations) > count
    }

    /// Whether a response for the key was stored since `count` had that value.
    package func includeStoring(of key: CacheKey, since count: UInt64) -> Bool {
        self.count != count && Self.last(key, in: stores) > count
    }

    /// Those of the keys whose response was not stored since `count` had that value; all of them without a value.
    package func unstored(_ keys: [CacheKey], since count: UInt64?) -> [CacheKey] {
        guard let count, self.count != count else { return keys }
        return keys.filter { !includeStoring(of: $0, since: count) }
    }

    private static func note(_ count: UInt64, _ key: CacheKey, in table: inout [UInt64]) {
        if table.isEmpty { table = Array(repeating: 0, count: places) }
        table[place(of: key)] = count
    }

    private static func last(_ key: CacheKey, in table: [UInt64]) -> UInt64 {
        table.isEmpty ? 0 : table[place(of: key)]
    }

    private static func place(of key: CacheKey) -> Int { Int(UInt(bitPattern: key.text.hashValue) % UInt(places)) }
}
