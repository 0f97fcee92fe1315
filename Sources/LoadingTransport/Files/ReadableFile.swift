internal import CLoadingLinux
internal import FoundationEssentials
internal import Glibc

/// The open file of a `FileReader`. Every call may wait for the disk.
final class ReadableFile {
    private let descriptor: Int32

    /// Throws EISDIR for a directory, and EACCES for other non-regular files: pipes and devices have no length.
    init(_ path: String) throws(POSIXFailure) {
        guard !path.utf8.contains(0) else { throw POSIXFailure(ENOENT) }
        // Without O_NONBLOCK, opening a pipe without a writer would block.
        descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { throw POSIXFailure(cll_errno()) }
        _ = posix_fadvise(descriptor, 0, 0, Int32(POSIX_FADV_SEQUENTIAL))
        switch try status().st_mode & S_IFMT {
        case S_IFREG: break
        case S_IFDIR: throw POSIXFailure(EISDIR)
        default: throw POSIXFailure(EACCES)
        }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    private func status() throws(POSIXFailure) -> stat {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw POSIXFailure(cll_errno()) }
        return status
    }

    func facts() throws(POSIXFailure) -> FileFacts {
        let status = try status()
        let (seconds, overflows) = Int64(status.st_mtim.tv_sec).multipliedReportingOverflow(by: 1_000_000_000)
        let modified = overflows ? 0 : seconds &+ Int64(status.st_mtim.tv_nsec)
        return FileFacts(length: Int64(status.st_size), modified: modified)
    }

    func read(at offset: Int64, most: Int) throws(POSIXFailure) -> Data {
        guard let buffer = ReadBuffers.take() else { throw POSIXFailure(ENOMEM) }
        var count = 0
        repeat {
            count = pread(descriptor, buffer, min(most, ReadBuffers.size), off_t(offset))
        } while count < 0 && cll_errno() == EINTR
        guard count > 0 else {
            let code = cll_errno()
            ReadBuffers.release(buffer)
            if count < 0 { throw POSIXFailure(code) }
            return Data()
        }
        return Data(
            bytesNoCopy: buffer, count: count, deallocator: .custom({ memory, _ in ReadBuffers.release(memory) }))
    }

    func fill(_ pipe: SplicePipe, at offset: Int64, most: Int) throws(POSIXFailure) -> Int {
        let count = cll_splice_file(descriptor, offset, pipe.writeEnd, most)
        guard count >= 0 else { throw POSIXFailure(cll_errno()) }
        return count
    }
}

/// Identifies a version of a file.
package struct FileFacts: Sendable, Equatable {
    package var length: Int64
    /// The modification time, in nanoseconds since 1970.
    package var modified: Int64

    package init(length: Int64, modified: Int64) {
        self.length = length
        self.modified = modified
    }
}
