internal import CLoadingLinux
internal import FoundationEssentials
internal import Glibc
internal import LoadingEvents

/// The folder of bodies that are too large for the index, with one file for each.
///
/// A file belongs to the entry that contains its name. It is locked while it is written, so that it does not count as
/// orphaned. The lock ends with the process.
struct BodyFolder {
    private let directory: StorageDirectory

    init(_ directory: StorageDirectory) { self.directory = directory }

    var path: String { directory.path }

    /// Returns nil for a name that is not that of a body, which could lead out of the folder.
    private func path(_ name: String) -> String? {
        guard name.utf8.count == 32, name.utf8.allSatisfy({ $0 &- 0x30 < 10 || $0 &- 0x61 < 6 }) else { return nil }
        return directory.path + "/" + name
    }

    func makeFile() throws(StorageFailure) -> BodyFile {
        let folder = try directory.make()
        while true {
            let name = (0..<32).map { _ in String(Int.random(in: 0..<16), radix: 16) }.joined()
            let file = try BodyFile(path: folder + "/" + name, name: name)
            if !file.isTakenForOrphan { return file }
        }
    }

    /// The whole body; nil if it is damaged or missing.
    func read(_ name: String, count: Int64, seal: Int64) -> Data? {
        guard let path = path(name), let count = Int(exactly: count) else { return nil }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, Int(status.st_size) == count
        else { return nil }
        var memory = GrowableBuffer()
        guard memory.grow(to: max(count, 1)), let buffer = memory.address else { return nil }
        var filled = 0
        while filled < count {
            let got = Glibc.read(descriptor, buffer + filled, count - filled)
            if got < 0, cll_errno() == EINTR { continue }
            if got <= 0 { break }
            filled += got
        }
        var found = Checksum()
        found.add(UnsafeRawBufferPointer(start: buffer, count: filled))
        guard filled == count, found.value == seal else { return nil }
        return memory.take(count)
    }

    func remove(_ name: String) {
        if let path = path(name) { unlink(path) }
    }

    /// Removes files that are neither being written nor in the index.
    ///
    /// - Parameter isKnown: Called for each such file after it was locked, because an entry may have been added
    ///   meanwhile.
    func removeOrphans(unlessIn known: Set<String>, or isKnown: (String) -> Bool) {
        guard let folder = opendir(directory.path) else { return }
        defer { closedir(folder) }
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard !known.contains(name), let path = path(name) else { continue }
            let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
            guard descriptor >= 0 else { continue }
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0, !isKnown(name) { unlink(path) }
            close(descriptor)
        }
    }
}

/// A body that is being written. Deleted in deinit unless it is kept.
final class BodyFile {
    let name: String
    private let path: String
    private let descriptor: Int32
    /// Whether another process has found the file before it was locked, and removes it.
    fileprivate let isTakenForOrphan: Bool
    private var isKept = false

    fileprivate init(path: String, name: String) throws(StorageFailure) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw StorageFailure(.make, path, .system(cll_errno())) }
        self.descriptor = descriptor
        self.name = name
        self.path = path
        // A file system without locks fails in another way.
        let isLockedElsewhere = flock(descriptor, LOCK_EX | LOCK_NB) != 0 && cll_errno() == EWOULDBLOCK
        var status = stat()
        isTakenForOrphan = isLockedElsewhere || fstat(descriptor, &status) == 0 && status.st_nlink == 0
    }

    deinit {
        if !isKept { unlink(path) }
        close(descriptor)
    }

    func write(_ data: Data) throws(StorageFailure) {
        let failure = data.withUnsafeBytes { bytes in write(bytes) }
        if let failure { throw failure }
    }

    private func write(_ bytes: UnsafeRawBufferPointer) -> StorageFailure? {
        var written = 0
        while written < bytes.count {
            guard let base = bytes.baseAddress else { return nil }
            let count = Glibc.write(descriptor, base + written, bytes.count - written)
            if count < 0, cll_errno() == EINTR { continue }
            if count <= 0 { return StorageFailure(.write, path, .system(count < 0 ? cll_errno() : EIO)) }
            written += count
        }
        return nil
    }

    /// The index contains the name.
    func keep() { isKept = true }
}
