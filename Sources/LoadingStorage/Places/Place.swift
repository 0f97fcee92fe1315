internal import CLoadingLinux
internal import Glibc

/// What has a name in a folder, looked at without opening it and without following it if it is a link.
struct Place: ~Copyable {
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
    /// Root may use the files of those it works for.
    var isOwn: Bool { status.st_uid == geteuid() || geteuid() == 0 }
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
