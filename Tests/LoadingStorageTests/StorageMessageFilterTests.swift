import LoadingStorage
import Testing

/// Which messages of a process's stores are written.
@Suite struct StorageMessageFilterTests {
    private let data = StorageMessage.inMemory(StorageFailure(.make, "/home/a/data", .system(13)))
    private let cache = StorageMessage.inMemory(StorageFailure(.make, "/home/a/cache", .system(13)))

    // C-36: without a writable home folder four stores have the same message
    @Test func oneLineForAllStores() {
        let announcements = StorageMessageFilter()
        #expect([data, data, cache, data].map { announcements.take($0) } == [true, false, false, false])
    }

    // C-36: a disk may be full for one load, and not for the next
    @Test func recurringMessagesAreWrittenOnce() {
        let announcements = StorageMessageFilter()
        let again = StorageMessage.writableAgain(path: "/home/a/data")
        #expect(!announcements.take(again))
        #expect([data, again, data, again].map { announcements.take($0) } == [true, true, false, false])
    }

    @Test func anotherTroubleIsSaidToo() {
        let announcements = StorageMessageFilter()
        let newer = StorageMessage.inMemory(StorageFailure(.open, "/home/a/data", .newer(version: 9)))
        let repaired = StorageMessage.repaired(path: "/home/a/data", saved: 2, putAside: nil)
        #expect(
            [data, newer, newer, repaired, repaired].map { announcements.take($0) } == [true, true, false, true, false])
    }
}
