import Foundation
import LoadingSemantics
import LoadingStorage
import TestSupport
import Testing

@testable import URLLoading

/// What is known in memory of the keys on disk.
@Suite(.leavesNothing) struct StoredKeysTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func archive() -> ResponseArchive {
        ResponseArchive(in: StorageDirectory(path: directory.file("cache").path), capacity: 1 << 20)
    }

    private func key(_ number: Int) -> CacheKey {
        CacheKey(address: "https://example.org/\(number)", partition: nil)
    }

    @discardableResult
    private func store(_ number: Int, in archive: ResponseArchive) -> Bool {
        let response = StoredResponse(
            status: 200, fields: HTTPFields(), requestTime: 1, responseTime: 1, variant: nil)
        let head = ArchivedResponse(url: "https://example.org/\(number)", response: response)
        return archive.store(head, body: Data(), for: key(number), at: 1)
    }

    /// Which of the first keys are certainly not there.
    private func excluded(_ keys: StoredKeys, _ count: Int = 4) -> [Bool] { (0..<count).map { keys.exclude(key($0)) } }

    // CACHE-25: before the keys are listed, each may be there
    @Test("the keys are listed with the first lookup") func listed() throws {
        let (archive, keys) = (archive(), StoredKeys())
        #expect(store(1, in: archive))
        #expect(excluded(keys) == [false, false, false, false])
        keys.noteLookup(isVain: true, in: archive)
        #expect(excluded(keys) == [true, false, true, true])
    }

    // CACHE-25
    @Test("without an index, only what is written since may be there") func noIndex() throws {
        let keys = StoredKeys()
        keys.noteNoIndex()
        #expect(excluded(keys) == [true, true, true, true])
        keys.willWrite(key(2))
        #expect(excluded(keys) == [true, true, false, true])
        // A key that was written before the missing index was noticed.
        let others = StoredKeys()
        others.willWrite(key(2))
        others.noteNoIndex()
        #expect(excluded(others) == [false, false, false, false])
    }

    // CACHE-25
    @Test("a key that waits to be written is not lost when the keys are listed") func waiting() throws {
        let (archive, keys) = (archive(), StoredKeys())
        keys.willWrite(key(0))
        keys.willWrite(key(1))
        keys.list(archive)
        #expect(excluded(keys) == [false, false, true, true])
        store(0, in: archive)
        keys.noteWritten(key(0), in: archive)
        keys.list(archive)
        #expect(excluded(keys) == [false, false, true, true])
        // It was not stored after all.
        keys.noteWritten(key(1), in: archive)
        keys.list(archive)
        #expect(excluded(keys) == [false, true, true, true])
    }

    // CACHE-25
    @Test("a key that is to be written twice waits until both are done") func twice() throws {
        let (archive, keys) = (archive(), StoredKeys())
        keys.willWrite(key(0))
        keys.willWrite(key(0))
        keys.noteWritten(key(0), in: archive)
        keys.list(archive)
        #expect(excluded(keys) == [false, true, true, true])
        keys.noteWritten(key(0), in: archive)
        keys.list(archive)
        #expect(excluded(keys) == [true, true, true, true])
    }

    // CACHE-25
    @Test("two threads announce their writes in one order, and write in the other") func otherOrder() throws {
        let (archive, keys) = (archive(), StoredKeys())
        keys.willWrite(key(0))
        keys.willWrite(key(1))
        store(1, in: archive)
        keys.noteWritten(key(1), in: archive)
        keys.list(archive)
        #expect(excluded(keys) == [false, false, true, true])
        store(0, in: archive)
        keys.noteWritten(key(0), in: archive)
        #expect(excluded(keys) == [false, false, true, true])
    }

    // CACHE-25, CACHE-30
    @Test("what another process stores is known after a refresh") func others() throws {
        let (archive, other, keys) = (archive(), archive(), StoredKeys())
        store(0, in: archive)
        keys.list(archive)
        keys.refresh(from: archive)
        store(1, in: other)
        #expect(excluded(keys) == [false, true, true, true])
        keys.refresh(from: archive)
        #expect(excluded(keys) == [false, false, true, true])
    }

    // CACHE-25, CACHE-30: the first lookup after the pause between two checks finds it, not the one after that
    @Test("what another process stores is found when a check is due") func due() async throws {
        let folder = StorageDirectory(path: directory.file("cache").path)
        let other = archive()
        store(0, in: other)
        let disk = ResponseDisk(in: folder, capacity: 1 << 20)
        // Lists the keys.
        disk.find(key(9)) { _ in }
        try await eventually {
            disk.knowledge == .listed && !disk.mayHold(CacheKey(address: "https://none", partition: nil))
        }
        store(1, in: other)
        try await Task.sleep(for: .seconds(TimeLimits.standard.storeCheck + 1))
        #expect(disk.knowledge == .outdated)
        #expect(disk.find(key(1)) != nil)
        #expect(disk.mayHold(key(1)))
    }

    // CACHE-25, CACHE-30
    @Test("an index that was removed, or is another file now, is noticed by a refresh") func replaced() throws {
        let (archive, keys) = (archive(), StoredKeys())
        store(0, in: archive)
        keys.list(archive)
        try FileManager.default.removeItem(atPath: archive.path)
        keys.refresh(from: archive)
        #expect(excluded(keys) == [true, true, true, true])
        let other = self.archive()
        store(3, in: other)
        keys.refresh(from: archive)
        #expect(excluded(keys) == [true, true, true, false])
    }

    // CACHE-28
    @Test("keys that are gone are forgotten after some lookups") func vain() throws {
        let (archive, keys) = (archive(), StoredKeys())
        store(0, in: archive)
        keys.list(archive)
        archive.remove(key(0))
        #expect(excluded(keys) == [false, true, true, true])
        for _ in 0..<40 { keys.noteLookup(isVain: true, in: archive) }
        #expect(excluded(keys) == [true, true, true, true])
    }

    // CACHE-25
    @Test("the set holds what was put in, and nothing else") func set() {
        var (set, known) = (HashSet(), Set<UInt64>())
        #expect(set.isEmpty)
        // Many with the same lowest bits, and so with the same first place.
        for number in 0..<1000 as Range<UInt64> {
            let hash = (number % 7) << 40 | (number * 64) | 1
            set.insert(hash)
            known.insert(hash)
        }
        #expect(set.count == known.count)
        let all = (0..<100_000 as Range<UInt64>).map { $0 | 1 } + Array(known)
        #expect(all.allSatisfy { set.contains($0) == known.contains($0) })
    }
}
