internal import CLoadingLinux
internal import Glibc

/// Folders whose names survive a power failure.
package enum SynchronizedFolder {
    /// Synchronizes the names in the folder.
    package static func synchronize(_ folder: String) throws(StorageFailure) {
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw StorageFailure(.open, folder, .system(cll_errno())) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw StorageFailure(.write, folder, .system(cll_errno())) }
    }

    /// Synchronizes a folder and those above it, as far as they belong to the user: others were not made for it.
    ///
    /// A folder that may not be read, as in a sandbox, or whose file system cannot synchronize folders, is no reason to
    /// do without the file.
    package static func synchronizeOwn(to folder: String) throws(StorageFailure) {
        try synchronizeIfPossible(folder)
        var folder = folder
        while folder != "/", folder != "." {
            folder = parent(of: folder)
            var status = stat()
            guard lstat(folder, &status) == 0, status.st_uid == geteuid() else { return }
            try synchronizeIfPossible(folder)
        }
    }

    private static func synchronizeIfPossible(_ folder: String) throws(StorageFailure) {
        do throws(StorageFailure) { try synchronize(folder) } catch {
            switch error.reason {
            case .system(EACCES), .system(EPERM), .system(EINVAL), .system(ENOTSUP), .system(EROFS): break
            default: throw error
            }
        }
    }

    package static func parent(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
