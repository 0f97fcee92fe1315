import FoundationEssentials
import Glibc
import TestSupport
import Testing

@testable import LoadingStorage

/// The lock of a folder of files.
@Suite struct FolderLockTests {
    // C-36
    @Test("a copy of its descriptor, as a forked process has it, does not keep the folder locked") func copies() throws
    {
        let folder = try TemporaryDirectory()
        let file = folder.file("records").path
        let before = Self.openDescriptors()
        let lock = try FolderLock(of: file)
        let copies = Self.openDescriptors().subtracting(before).map { dup($0) }
        defer { for copy in copies { close(copy) } }
        #expect(!copies.isEmpty)
        lock.release()
        try FolderLock(of: file).release()
    }

    /// Other tests may open some meanwhile, of which copies do no harm.
    private static func openDescriptors() -> Set<Int32> { Set((0..<1024).filter { fcntl($0, F_GETFD) >= 0 }) }
}
