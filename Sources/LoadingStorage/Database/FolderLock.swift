internal import CLoadingLinux
internal import CLoadingSQLite
internal import Glibc

/// Keeps other processes from repairing what is in a folder at the same time.
struct FolderLock {
    private let descriptor: Int32

    /// - Parameter path: Of a file in the folder.
    init(of path: String) throws(StorageFailure) {
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw StorageFailure(.open, folder, .system(cll_errno())) }
        for _ in 0..<200 {
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return }
            // Without such locks there are no other processes either, or nothing can be done about them.
            if cll_errno() != EWOULDBLOCK { return }
            usleep(10_000)
        }
        close(descriptor)
        throw StorageFailure(.open, folder, .database(SQLITE_BUSY))
    }

    func release() { close(descriptor) }
}
