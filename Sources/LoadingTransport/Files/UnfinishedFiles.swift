internal import CLoadingLinux
internal import Glibc
internal import LoadingEvents
internal import LoadingSemantics
internal import Synchronization

/// The files of downloads that are not the program's yet: those that are being written, and those of failed downloads
/// whose resume data the program has not taken. They are removed when the process ends by `exit`.
///
/// What a killed process has left is removed by another one, when it is older than a week.
package final class UnfinishedFiles: @unchecked Sendable {
    // Sendable because `paths` and `openings` are guarded by `lock`.

    package static let shared = UnfinishedFiles()

    private let lock = Lock()
    /// Each with the number of its last opening.
    private var paths: [String: UInt64] = [:]
    private var openings: UInt64 = 0
    /// Whose files they are. A process that was forked off has a copy, but the files are its parent's; and the lock may never
    /// be given back there, so this is looked at first.
    private let owner = Atomic<pid_t>(0)

    private init() {
        atexit { UnfinishedFiles.shared.removeAll() }
    }

    func add(_ path: String) {
        let process = getpid()
        lock.withLock {
            if owner.exchange(process, ordering: .relaxed) != process { paths = [:] }
            openings += 1
            paths[path] = openings
        }
    }

    /// The file is the program's from now on.
    package func keep(_ path: String) { forget(path) }

    /// The same, of the file with that name in whatever folder.
    package func keep(named name: String) {
        guard isOwn else { return }
        lock.withLock {
            if let path = paths.keys.first(where: { FileWriter.name(of: $0) == name }) { paths[path] = nil }
        }
    }

    /// Removes the file.
    package func remove(_ path: String) {
        unlink(path)
        forget(path)
    }

    /// What `remove(_:of:)` takes to remove the file as it is now; nil if the file is the program's.
    package func claim(on path: String) -> UInt64? { isOwn ? lock.withLock { paths[path] } : nil }

    /// Removes the file unless it was kept, or another download goes on in it.
    package func remove(_ path: String, of claim: UInt64) {
        guard isOwn, lock.withLock({ paths[path] == claim }) else { return }
        remove(path)
    }

    private func forget(_ path: String) {
        if isOwn { lock.withLock { paths[path] = nil } }
    }

    private var isOwn: Bool { owner.load(ordering: .relaxed) == getpid() }

    private func removeAll() {
        guard isOwn else { return }
        for path in lock.withLock({ Array(paths.keys) }) { unlink(path) }
    }

    // MARK: Of other processes

    /// Removes this user's files of downloads that were last written to so long ago. May wait for the disk.
    package static func removeOld(in folder: String) {
        guard let directory = opendir(folder) else { return }
        defer { closedir(directory) }
        let oldest = time(nil) - TimeLimits.standard.unfinishedFile
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard name.hasPrefix(OpenFile.prefix), name.hasSuffix(OpenFile.suffix) else { continue }
            removeIfOld(name, in: dirfd(directory), oldest)
        }
    }

    private static func removeIfOld(_ name: String, in folder: Int32, _ oldest: time_t) {
        let descriptor = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
            status.st_mtim.tv_sec < oldest,
            // Whoever writes it has it locked.
            flock(descriptor, LOCK_EX | LOCK_NB) == 0
        else { return }
        unlinkat(folder, name, 0)
    }
}
