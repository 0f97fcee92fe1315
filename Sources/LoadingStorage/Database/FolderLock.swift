internal import CLoadingLinux
internal import CLoadingSQLite
internal import Glibc
internal import LoadingSemantics

/// Prevents concurrent repairs of the files in a folder by other processes.
struct FolderLock {
    private let descriptor: Int32

    /// - Parameter path: A file in the folder.
    init(of path: String) throws(StorageFailure) {
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw StorageFailure(.open, folder, .system(cll_errno())) }
        let limits = TimeLimits.standard
        for _ in 0..<limits.folderLock / limits.folderLockRetry {
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return }
            // The file system does not support locks.
            if cll_errno() != EWOULDBLOCK { return }
            usleep(UInt32(limits.folderLockRetry / 1000))
        }
        close(descriptor)
        throw StorageFailure(.open, folder, .database(SQLITE_BUSY))
    }

    /// A process that was forked meanwhile has the descriptor too, so closing it would not unlock the folder.
    func release() {
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }
}
