internal import CLoadingLinux
internal import CLoadingSQLite
internal import Glibc
internal import LoadingSemantics

/// Keeps other processes from repairing what is in a folder at the same time.
struct FolderLock {
    private let descriptor: Int32

    /// - Parameter path: Of a file in the folder.
    init(of path: String) throws(StorageFailure) {
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw StorageFailure(.open, folder, .system(cll_errno())) }
        let limits = TimeLimits.standard
        for _ in 0..<limits.folderLock / limits.folderLockRetry {
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return }
            // Without such locks there are no other processes either, or nothing can be done about them.
            if cll_errno() != EWOULDBLOCK { return }
            usleep(UInt32(limits.folderLockRetry / 1000))
        }
        close(descriptor)
        throw StorageFailure(.open, folder, .database(SQLITE_BUSY))
    }

    func release() { close(descriptor) }
}
