internal import CLoadingLinux
internal import FoundationEssentials
internal import Glibc

/// The open file of a `FileWriter`. Every call may wait for the disk.
final class OpenFile {
    let path: String
    private var descriptor: Int32
    /// Whether the file has `UnfinishedFiles.abandonableMode`.
    private var isAbandonable = false

    /// Of the names of new files.
    static let (prefix, suffix) = ("CFNetworkDownload_", ".tmp")

    init(_ destination: FileWriter.Destination) throws(FileWriter.Failure) {
        switch destination {
        case .newFile(let folder), .replacement(let folder, _):
            if case .replacement(_, let old) = destination { UnfinishedFiles.shared.remove(old) }
            var template = Array("\(folder)/\(Self.prefix)XXXXXX\(Self.suffix)".utf8CString)
            let suffix = Int32(Self.suffix.utf8.count)
            descriptor = template.withUnsafeMutableBufferPointer { cll_make_file($0.baseAddress, suffix) }
            guard descriptor >= 0 else { throw .creating(POSIXFailure(cll_errno())) }
            path = template.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
            // The mode says nothing without the lock, and some file systems support neither.
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 {
                isAbandonable = fchmod(descriptor, UnfinishedFiles.abandonableMode) == 0
            }
        case .existing(let known, let offset):
            path = known
            // In a shared folder, the path may lead to a FIFO of another user. Opening one would wait for a reader.
            descriptor = Glibc.open(known, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
            guard descriptor >= 0 else { throw .opening(POSIXFailure(cll_errno())) }
            // From here on `deinit` closes the file, also when this throws.
            //
            // Two concurrent writers would leave holes in the file, which the first to finish would take for content.
            // Some file systems do not support locks.
            if flock(descriptor, LOCK_EX | LOCK_NB) != 0, cll_errno() == EWOULDBLOCK {
                throw .opening(POSIXFailure(EWOULDBLOCK))
            }
            // Extending the file would fill it with zeros.
            var status = stat()
            guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size >= offset else {
                throw .opening(POSIXFailure(ESTALE))
            }
            guard Self.isOwn(status, in: known) else { throw .opening(POSIXFailure(EPERM)) }
            _ = fcntl(descriptor, F_SETFL, 0)
            // A program has its resume data.
            if status.st_mode & S_ISVTX != 0 { fchmod(descriptor, UnfinishedFiles.resumableMode) }
            guard ftruncate(descriptor, off_t(offset)) == 0, lseek(descriptor, off_t(offset), SEEK_SET) == offset else {
                throw .opening(POSIXFailure(cll_errno()))
            }
        }
        UnfinishedFiles.shared.add(path)
    }

    /// Whether no other user can have made the file or write to it. If only this user may write to the folder, the
    /// file's own owner and mode are not checked, because some file systems have none.
    private static func isOwn(_ file: stat, in path: String) -> Bool {
        let others = S_IWGRP | S_IWOTH
        var folder = stat()
        let isFolderOwn =
            stat(path.hasPrefix("/") ? String(path[..<(path.lastIndex(of: "/") ?? path.endIndex)]) + "/" : ".", &folder)
            == 0
            && (folder.st_uid == geteuid() || folder.st_uid == 0) && folder.st_mode & others == 0
        // The link count is always 0 on some file systems. A program may have given its own file a second name.
        return isFolderOwn || file.st_uid == geteuid() && file.st_mode & others == 0 && file.st_nlink <= 1
    }

    deinit {
        guard descriptor >= 0 else { return }
        makeResumable()
        Glibc.close(descriptor)
    }

    /// Before the file is closed, because its lock ends then, and other processes would take it for abandoned.
    private func makeResumable() {
        if isAbandonable { fchmod(descriptor, UnfinishedFiles.resumableMode) }
        isAbandonable = false
    }

    func write(_ data: Data) throws(FileWriter.Failure) {
        let failure = data.withUnsafeBytes { write($0) }
        if let failure { throw failure }
    }

    private func write(_ bytes: UnsafeRawBufferPointer) -> FileWriter.Failure? {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            if count < 0 {
                let code = cll_errno()
                if code == EINTR { continue }
                return .writing(POSIXFailure(code))
            }
            rest = rest.dropFirst(count)
        }
        return nil
    }

    /// Removes the bytes behind `offset`, so that they occupy no space. The next download that continues the file at that
    /// offset would remove them too.
    func truncate(to offset: Int64) { if descriptor >= 0 { ftruncate(descriptor, off_t(offset)) } }

    /// Moves bytes from the pipe to the file.
    func drain(_ pipe: SplicePipe, _ count: Int) throws(FileWriter.Failure) {
        var missing = count
        while missing > 0 {
            let moved = cll_splice(pipe.readEnd, descriptor, missing)
            if moved > 0 {
                missing -= moved
                continue
            }
            // Some file systems do not support splice.
            guard moved < 0, cll_errno() == EINVAL else { throw .writing(POSIXFailure(moved == 0 ? EIO : cll_errno())) }
            return try copy(from: pipe, missing)
        }
    }

    private func copy(from pipe: SplicePipe, _ count: Int) throws(FileWriter.Failure) {
        guard let buffer = ReadBuffers.take() else { throw .writing(POSIXFailure(ENOMEM)) }
        defer { ReadBuffers.release(buffer) }
        var missing = count
        while missing > 0 {
            let taken = Glibc.read(pipe.readEnd, buffer, min(missing, ReadBuffers.size))
            guard taken > 0 else {
                if taken < 0, cll_errno() == EINTR { continue }
                throw .writing(POSIXFailure(EIO))
            }
            missing -= taken
            if let failure = write(UnsafeRawBufferPointer(start: buffer, count: taken)) { throw failure }
        }
    }

    /// Closes the file, where some network file systems report lost writes. Fails if the file was deleted meanwhile.
    func close() throws(FileWriter.Failure) {
        makeResumable()
        let closing = descriptor
        descriptor = -1
        // The link count is always 0 on some file systems.
        if access(path, F_OK) != 0, cll_errno() == ENOENT {
            Glibc.close(closing)
            throw .closing(POSIXFailure(ENOENT))
        }
        // The descriptor is closed even after EINTR.
        if Glibc.close(closing) != 0, cll_errno() != EINTR { throw .closing(POSIXFailure(cll_errno())) }
    }

    func remove() { UnfinishedFiles.shared.remove(path) }
}
