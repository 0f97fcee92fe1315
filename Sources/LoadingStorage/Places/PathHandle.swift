internal import CLoadingLinux
internal import Glibc

/// What has a name in a folder, looked at without opening it and without following it if it is a link.
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
    /// Also for root: what another user owns that user can read, and may put something else in its place.
    var isOwn: Bool { status.st_uid == geteuid() }
    /// Whether only this user and root can put something else in the place of what is in this folder. A group is trusted
    /// if it is this process's own, which on many systems is the user's alone.
    var isTrustedFolder: Bool {
        guard isOwn || status.st_uid == 0 || UserNamespace.current.hides(status.st_uid) else { return false }
        // Sticky: only the owner of a file may rename it.
        return mode & 0o1000 != 0 || isClosedToStrangers
    }
    /// The same of the folder that a store's files are in. There nobody else may make one either, before SQLite makes its own
    /// of that name and writes to it.
    var isTrustedStore: Bool { (isOwn || status.st_uid == 0) && isClosedToStrangers }
    private var isClosedToStrangers: Bool {
        let isTrustedGroup = status.st_gid == getegid() || status.st_gid == 0
        return mode & 0o002 == 0 && (mode & 0o020 == 0 || isTrustedGroup)
    }
    var mode: mode_t { status.st_mode & 0o7777 }
    var size: Int64 { Int64(status.st_size) }
    var identity: FileIdentity { FileIdentity(device: UInt64(status.st_dev), number: UInt64(status.st_ino)) }

    /// Some file systems have no modes; there is nothing to be done about that.
    func setMode(_ mode: mode_t) { _ = cll_set_mode_of_place(descriptor, mode) }
}

/// Which file it is, whatever its name.
struct FileIdentity: Hashable {
    var device: UInt64
    var number: UInt64
}
