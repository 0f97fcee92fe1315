internal import CLoadingLinux
internal import FoundationEssentials
internal import Glibc

/// The file of a `FileWriter`, open. Every call may wait for the disk.
final class OpenFile {
    let path: String
    private var descriptor: Int32

    /// Of the name of each file that is made.
    static let (prefix, suffix) = ("CFNetworkDownload_", ".tmp")

    init(_ place: FileWriter.Place) throws(FileWriter.Failure) {
        switch place {
        case .newFile(let folder), .replacement(let folder, _):
            if case .replacement(_, let old) = place { UnfinishedFiles.shared.remove(old) }
            var template = Array("\(folder)/\(Self.prefix)XXXXXX\(Self.suffix)".utf8CString)
            let suffix = Int32(Self.suffix.utf8.count)
            descriptor = template.withUnsafeMutableBufferPointer { cll_make_file($0.baseAddress, suffix) }
            guard descriptor >= 0 else { throw .creating(POSIXFailure(cll_errno())) }
            path = template.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
            _ = flock(descriptor, LOCK_EX | LOCK_NB)
        case .existing(let known, let offset):
            path = known
            descriptor = Glibc.open(known, O_WRONLY | O_CLOEXEC | O_NOFOLLOW)
            guard descriptor >= 0 else { throw .opening(POSIXFailure(cll_errno())) }
            // Two that write to one file at a time leave holes in it, which the one that ends first takes for content. Not
            // every file system has such locks.
            if flock(descriptor, LOCK_EX | LOCK_NB) != 0, cll_errno() == EWOULDBLOCK {
                Glibc.close(descriptor)
                throw .opening(POSIXFailure(EWOULDBLOCK))
            }
            // A file that has less than was said would be filled up with zeros.
            var status = stat()
            guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size >= offset else {
                Glibc.close(descriptor)
                throw .opening(POSIXFailure(ESTALE))
            }
            guard ftruncate(descriptor, off_t(offset)) == 0, lseek(descriptor, off_t(offset), SEEK_SET) == offset else {
                let failure = POSIXFailure(cll_errno())
                Glibc.close(descriptor)
                throw .opening(failure)
            }
        }
        UnfinishedFiles.shared.add(path)
    }

    deinit {
        if descriptor >= 0 { Glibc.close(descriptor) }
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

    /// Moves so many bytes from the pipe to the file.
    func drain(_ pipe: SplicePipe, _ count: Int) throws(FileWriter.Failure) {
        var missing = count
        while missing > 0 {
            let moved = cll_splice(pipe.exit, descriptor, missing)
            if moved > 0 {
                missing -= moved
                continue
            }
            // Not every file system can be spliced to.
            guard moved < 0, cll_errno() == EINVAL else { throw .writing(POSIXFailure(moved == 0 ? EIO : cll_errno())) }
            return try copy(from: pipe, missing)
        }
    }

    private func copy(from pipe: SplicePipe, _ count: Int) throws(FileWriter.Failure) {
        guard let buffer = ReadBuffers.take() else { throw .writing(POSIXFailure(ENOMEM)) }
        defer { ReadBuffers.release(buffer) }
        var missing = count
        while missing > 0 {
            let taken = Glibc.read(pipe.exit, buffer, min(missing, ReadBuffers.size))
            guard taken > 0 else {
                if taken < 0, cll_errno() == EINTR { continue }
                throw .writing(POSIXFailure(EIO))
            }
            missing -= taken
            if let failure = write(UnsafeRawBufferPointer(start: buffer, count: taken)) { throw failure }
        }
    }

    /// Closes the file; only here some network file systems tell that a write was lost. A file that somebody has removed
    /// meanwhile is no success: nobody could find it.
    func close() throws(FileWriter.Failure) {
        let closing = descriptor
        descriptor = -1
        // Not the number of links: some file systems always say 0.
        if access(path, F_OK) != 0, cll_errno() == ENOENT {
            Glibc.close(closing)
            throw .closing(POSIXFailure(ENOENT))
        }
        // The descriptor is gone also after EINTR.
        if Glibc.close(closing) != 0, cll_errno() != EINTR { throw .closing(POSIXFailure(cll_errno())) }
    }

    func remove() { UnfinishedFiles.shared.remove(path) }
}
