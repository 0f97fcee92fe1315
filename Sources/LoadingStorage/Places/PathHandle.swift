internal import CLoadingLinux
internal import Glibc

/// A directory entry, opened with O_PATH: its metadata are read without opening the file, and symbolic links are not
/// followed.
struct PathHandle: ~Copyable {
    private let descriptor: Int32
    private let status: stat

    init(_ path: String) throws(StorageFailure) {
        descriptor = cll_open_place(path)
        guard descriptor >= 0 else { throw StorageFailure(.open, path, .system(cll_errno())) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            let code = cll_errno()
            close(descriptor)
            throw StorageFailure(.open, path, .system(code))
        }
        self.status = status
    }

    deinit { close(descriptor) }

    var isFile: Bool { status.st_mode & S_IFMT == S_IFREG }
    var isFolder: Bool { status.st_mode & S_IFMT == S_IFDIR }
    /// Also for root, because another owner could read the file and replace it.
    var isOwnedByUser: Bool { status.st_uid == geteuid() }
    /// Whether only this user and root can replace entries of the folder. The process's own group is trusted, because
    /// on many systems each user has a private group.
    var isTrustedFolder: Bool {
        guard isOwnedByUser || status.st_uid == 0 || UserNamespace.current.isUnmapped(status.st_uid) else {
            return false
        }
        // Sticky bit: only the owner of a file may rename it.
        return mode & 0o1000 != 0 || isWritableByOwnerOnly
    }
    /// The same for the folder of a store. In addition, no other user may create files there, because SQLite opens its
    /// side files by name.
    var isTrustedStore: Bool { (isOwnedByUser || status.st_uid == 0) && isWritableByOwnerOnly }
    var isTrustedProgram: Bool { isFile && (isOwnedByUser || status.st_uid == 0) && isWritableByOwnerOnly }
    private var isWritableByOwnerOnly: Bool {
        let isTrustedGroup = status.st_gid == getegid() || status.st_gid == 0
        return mode & 0o002 == 0 && (mode & 0o020 == 0 || isTrustedGroup)
    }
    var mode: mode_t { status.st_mode & 0o7777 }
    var size: Int64 { Int64(status.st_size) }
    var identity: FileIdentity { FileIdentity(device: UInt64(status.st_dev), number: UInt64(status.st_ino)) }

    /// Fails silently on file systems without permissions.
    func setMode(_ mode: mode_t) { _ = cll_set_mode_of_place(descriptor, mode) }
}

/// Identifies a file regardless of its name.
struct FileIdentity: Hashable {
    var device: UInt64
    var number: UInt64
}
