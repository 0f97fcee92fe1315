import Glibc
import TestSupport
import Testing

@testable import LoadingStorage

@Suite struct SynchronizedFolderTests {
    // S-88: a store there is better than none
    @Test("a file system that cannot synchronize folders") func impossible() throws {
        #expect(throws: StorageFailure(.write, "/proc/self", .system(EINVAL))) {
            try SynchronizedFolder.synchronize("/proc/self")
        }
        try SynchronizedFolder.synchronizeOwn(to: "/proc/self")
    }

    // S-88
    @Test("a missing folder, and one with a relative path") func paths() throws {
        #expect(throws: StorageFailure(.open, "/nowhere", .system(ENOENT))) {
            try SynchronizedFolder.synchronizeOwn(to: "/nowhere")
        }
        try SynchronizedFolder.synchronizeOwn(to: ".")
        #expect(["/a/b", "/a", "a/b", "a"].map(SynchronizedFolder.parent) == ["/a", "/", "a", "."])
    }
}
