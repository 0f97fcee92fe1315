import LoadingSemantics
import Testing

@Suite struct CacheChangesTests {
    private static func key(_ name: String) -> CacheKey {
        CacheKey(address: "https://a.example/\(name)", partition: nil)
    }

    // CACHE-19, CACHE-25: RFC 9111 §4.4
    @Test func removals() {
        var changes = CacheChanges()
        let first = changes.count
        #expect(!changes.includeRemoval(of: Self.key("a"), since: first))
        changes.note(removed: [])
        #expect(changes.count == first)
        changes.note(removed: [Self.key("a"), Self.key("b")])
        let second = changes.count
        #expect(changes.includeRemoval(of: Self.key("a"), since: first))
        #expect(changes.includeRemoval(of: Self.key("b"), since: first))
        #expect(!changes.includeRemoval(of: Self.key("a"), since: second))
        changes.note(stored: Self.key("a"))
        #expect(!changes.includeRemoval(of: Self.key("a"), since: second))
        changes.noteRemovalOfAll()
        #expect(changes.includeRemoval(of: Self.key("c"), since: second))
        #expect(!changes.includeRemoval(of: Self.key("c"), since: changes.count))
    }

    // CACHE-19, CACHE-25: the program's own removals are no invalidations
    @Test func invalidations() {
        var changes = CacheChanges()
        changes.note(removed: [Self.key("a")])
        changes.noteRemovalOfAll()
        #expect(!changes.includeInvalidation(of: Self.key("a"), since: 0))
        let count = changes.count
        changes.note(invalidated: [])
        #expect(changes.count == count)
        changes.note(invalidated: [Self.key("a"), Self.key("b")])
        #expect(changes.includeInvalidation(of: Self.key("b"), since: count))
        #expect(changes.includeRemoval(of: Self.key("b"), since: count))
        #expect(!changes.includeInvalidation(of: Self.key("b"), since: changes.count))
    }

    // CACHE-25: RFC 9111 §4
    @Test func stores() {
        var changes = CacheChanges()
        changes.note(stored: Self.key("a"))
        let count = changes.count
        #expect(changes.includeStoring(of: Self.key("a"), since: 0))
        #expect(!changes.includeStoring(of: Self.key("a"), since: count))
        changes.note(removed: [Self.key("a")])
        #expect(!changes.includeStoring(of: Self.key("a"), since: count))
        changes.note(stored: Self.key("a"))
        #expect(changes.includeStoring(of: Self.key("a"), since: count))
    }

    // CACHE-19, CACHE-26: what was stored during a load is newer than what the load invalidates
    @Test func unstored() throws {
        var changes = CacheChanges()
        changes.note(stored: Self.key("a"))
        let count = changes.count
        let keys = [Self.key("a"), Self.key("b")]
        #expect(changes.unstored(keys, since: count) == keys)
        changes.note(stored: keys[0])
        // One that does not share a place with it
        let other = (0..<100).map { Self.key("\($0)") }.first { !changes.includeStoring(of: $0, since: count) }
        #expect(changes.unstored([keys[0], try #require(other)], since: count) == [other])
        changes.note(stored: keys[1])
        #expect(changes.unstored(keys, since: count).isEmpty)
        #expect(changes.unstored(keys, since: changes.count) == keys)
        #expect(changes.unstored(keys, since: nil) == keys)
    }

    // CACHE-25: memory is bounded, so keys may share a place. No removal is forgotten, and most other keys are
    // unaffected.
    @Test func manyKeys() {
        var changes = CacheChanges()
        changes.note(removed: (0..<10_000).map { Self.key("\($0)") })
        let count = changes.count
        changes.note(removed: [Self.key("a")])
        for number in 0..<10 { changes.note(stored: Self.key("\(number)")) }
        #expect(changes.includeRemoval(of: Self.key("a"), since: count))
        let affected = (0..<10_000).count { changes.includeRemoval(of: Self.key("\($0)"), since: count) }
        #expect(affected < 50)
    }
}
