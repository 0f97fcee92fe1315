internal import CLoadingLinux
internal import Glibc
package import LoadingStorage

extension StorageFailure {
    /// Whether the process or the system had no free descriptor.
    var isOfDescriptors: Bool { [.system(EMFILE), .system(ENFILE)].contains(reason) }
}

/// Files whose content and name survive a power failure.
package enum SynchronizedFile {
    /// Synchronizes the content and the name. Returns the size.
    package static func synchronizeWithName(_ path: String) throws(StorageFailure) -> Int64 {
        let size = try synchronize(path)
        try SynchronizedFolder.synchronize(SynchronizedFolder.parent(of: path))
        return size
    }

    /// Synchronizes the content. Returns its size.
    static func synchronize(_ path: String) throws(StorageFailure) -> Int64 {
        // The path is the service's own, but a symbolic link or a FIFO in its place must do no harm.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { throw StorageFailure(.open, path, .system(cll_errno())) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw StorageFailure(.read, path, .system(cll_errno())) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw StorageFailure(.open, path, .foreign) }
        guard fsync(descriptor) == 0 else { throw StorageFailure(.write, path, .system(cll_errno())) }
        return Int64(status.st_size)
    }
}
