internal import CLoadingLinux
internal import Glibc
internal import LoadingEvents
internal import LoadingSemantics
internal import Synchronization

/// Download files that are not delivered yet: those being written, and those of failed downloads whose resume data were
/// not requested. They are deleted when the process calls `exit`.
///
/// The files of a killed process are deleted by a later one. A file that was open for writing, and for which no resume
/// data was made, is deleted a minute after its last write. For other files, a program may have stored resume data, so
/// they are deleted after a week. A file that is locked is still being written, and stays.
package final class UnfinishedFiles: @unchecked Sendable {
    // Sendable because `paths` and `openings` are guarded by `lock`, and `owner` is atomic.

    package static let shared = UnfinishedFiles()

    /// The mode of a new file that is open for writing, as long as no resume data was made for it. The sticky bit has
    /// no other meaning for a file on Linux.
    static let abandonableMode = S_ISVTX | resumableMode
    static let resumableMode: mode_t = 0o600

    private let lock = Lock()
    /// With the number of the last opening of each.
    private var paths: [String: UInt64] = [:]
    private var openings: UInt64 = 0
    /// The process that owns the files. A forked process has a copy of `paths`, but the files belong to its parent. The
    /// lock may be held forever there, so this is checked first.
    private let owner = Atomic<pid_t>(0)

    private init() {
        atexit { UnfinishedFiles.shared.removeAll() }
    }

    package func add(_ path: String) {
        let process = getpid()
        lock.withLock {
            if owner.exchange(process, ordering: .relaxed) != process { paths = [:] }
            openings += 1
            paths[path] = openings
        }
    }

    /// The file was delivered to the application.
    package func keep(_ path: String) { forget(path) }

    /// The same for the file with that name in any folder, which may still be written.
    package func keep(named name: String) {
        guard isOwn else { return }
        let path = lock.withLock {
            let path = paths.keys.first { FileWriter.name(of: $0) == name }
            if let path { paths[path] = nil }
            return path
        }
        if let path { chmod(path, Self.resumableMode) }
    }

    /// Deletes the file.
    package func remove(_ path: String) {
        unlink(path)
        forget(path)
    }

    /// A token for `remove(_:of:)`, which identifies the present opening; nil if the file was delivered.
    package func claim(on path: String) -> UInt64? { isOwn ? lock.withLock { paths[path] } : nil }

    /// Deletes the file, unless it was delivered, or another download continues it.
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

    // MARK: Files of other processes

    /// Deletes this user's download files that were last modified before the limits. May wait for the disk.
    ///
    /// - Parameter includesAbandoned: Whether the limit of files with `abandonableMode` is a minute. Not in a folder
    ///   into which files are moved together with their resume data, because a move keeps the mode.
    package static func removeOld(in folder: String, includesAbandoned: Bool = false) {
        guard let directory = opendir(folder) else { return }
        defer { closedir(directory) }
        let now = time(nil)
        let oldest = now - TimeLimits.standard.unfinishedFile
        let oldestAbandoned = includesAbandoned ? now - TimeLimits.standard.abandonedFile : oldest
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard name.hasPrefix(OpenFile.prefix), name.hasSuffix(OpenFile.suffix) else { continue }
            removeIfOld(name, in: dirfd(directory), oldest, oldestAbandoned)
        }
    }

    private static func removeIfOld(_ name: String, in folder: Int32, _ oldest: time_t, _ oldestAbandoned: time_t) {
        let descriptor = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
            status.st_mtim.tv_sec < (status.st_mode & S_ISVTX == 0 ? oldest : oldestAbandoned),
            // A file that is being written is locked.
            flock(descriptor, LOCK_EX | LOCK_NB) == 0
        else { return }
        unlinkat(folder, name, 0)
    }
}
