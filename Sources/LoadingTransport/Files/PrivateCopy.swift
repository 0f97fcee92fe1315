internal import CLoadingLinux
package import FoundationEssentials
internal import Glibc

/// Copies of files that a transfer keeps for itself, because their owner may change or remove them. May wait for the
/// disk.
///
/// A copy has the modification time of its original, so that an upload of one may resume with the other (RES-13).
package enum PrivateCopy {
    /// The file to copy, open, so that it may be removed meanwhile.
    package final class Original: Sendable {
        fileprivate let descriptor: Int32
        /// When it was modified last before it was opened.
        private let modified: (seconds: Int, nanoseconds: Int)

        /// Throws the reason if it is no regular file that can be read.
        package init(path: String) throws(POSIXFailure) {
            // The system would take a zero byte for the end of the path.
            let isPath = !path.utf8.contains(0)
            let file = isPath ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1
            var status = stat()
            let code = !isPath ? ENOENT : file < 0 || fstat(file, &status) != 0 ? cll_errno() : 0
            (descriptor, modified) = (file, (status.st_mtim.tv_sec, status.st_mtim.tv_nsec))
            // From here on `deinit` closes the file, also when this throws.
            guard code == 0 else { throw POSIXFailure(code) }
            switch status.st_mode & S_IFMT {
            case S_IFREG: break
            case S_IFDIR: throw POSIXFailure(EISDIR)
            default: throw POSIXFailure(EINVAL)
            }
        }

        deinit {
            if descriptor >= 0 { close(descriptor) }
        }

        /// Where that fails, no upload of the one resumes with the other.
        fileprivate func giveTime(to copy: Int32) {
            let time = timespec(tv_sec: modified.seconds, tv_nsec: modified.nanoseconds)
            futimens(copy, [time, time])
        }
    }

    /// A longer file is not copied at once. In bytes. Decision: a caller may wait some milliseconds for a new task.
    package static let longestAtOnce = 8 << 20

    /// Makes the copy if that is soon done: a clone, or else a copy of a short file. False if it takes longer or fails.
    ///
    /// A hard link would be no copy: the owner may change the file in its place.
    ///
    /// - Parameter most: The length of a short file.
    package static func makeAtOnce(
        _ original: Original, at path: String, most: Int = PrivateCopy.longestAtOnce
    ) -> Bool {
        let copy = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard copy >= 0 else { return false }
        defer { close(copy) }
        var status = stat()
        if cll_clone_file(copy, original.descriptor) == 0
            || fstat(original.descriptor, &status) == 0 && status.st_size <= most
                && (try? readAll(of: original, into: copy, most: most)) != nil
        {
            original.giveTime(to: copy)
            return true
        }
        unlink(path)
        return false
    }

    /// Reads and writes the file.
    package static func make(_ original: Original, at path: String) throws(POSIXFailure) {
        try write(to: path) { (copy) throws(POSIXFailure) in
            try readAll(of: original, into: copy)
            original.giveTime(to: copy)
        }
    }

    /// - Parameter most: Fails if there are more bytes. The size does not say so of a file that grows, or that some
    ///   file systems give as 0.
    private static func readAll(
        of original: Original, into copy: Int32, most: Int = .max
    ) throws(POSIXFailure) {
        guard lseek(original.descriptor, 0, SEEK_SET) == 0 else { throw POSIXFailure(cll_errno()) }
        var left = most
        while true {
            let count = cll_copy_range(original.descriptor, copy, min(left, 1 << 30))
            if count > 0 {
                left -= count
                continue
            }
            if count < 0, cll_errno() == EINTR { continue }
            // Also at the end: the kernel believes the size of a file (copy_file_range(2), "Bugs").
            return try readAndWrite(original.descriptor, copy, most: left)
        }
    }

    /// A new file with that content.
    package static func make(_ content: Data, at path: String) throws(POSIXFailure) {
        try write(to: path) { (copy) throws(POSIXFailure) in
            let failure = content.withUnsafeBytes { write($0, to: copy) }
            if let failure { throw failure }
        }
    }

    /// Gives a file another place. It is copied if that is in another file system.
    package static func move(_ path: String, to other: String) throws(POSIXFailure) {
        if rename(path, other) == 0 { return }
        guard cll_errno() == EXDEV else { throw POSIXFailure(cll_errno()) }
        try make(Original(path: path), at: other)
        unlink(path)
    }

    private static func write(
        to path: String, _ body: (Int32) throws(POSIXFailure) -> Void
    ) throws(POSIXFailure) {
        let copy = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard copy >= 0 else { throw POSIXFailure(cll_errno()) }
        defer { close(copy) }
        do { try body(copy) } catch {
            unlink(path)
            throw error
        }
    }

    private static func readAndWrite(_ original: Int32, _ copy: Int32, most: Int) throws(POSIXFailure) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 16)
        defer { buffer.deallocate() }
        var left = most
        while true {
            let count = read(original, buffer.baseAddress, buffer.count)
            if count == 0 { return }
            if count < 0, cll_errno() == EINTR { continue }
            guard count > 0 else { throw POSIXFailure(cll_errno()) }
            guard count <= left else { throw POSIXFailure(EFBIG) }
            left -= count
            if let failure = write(UnsafeRawBufferPointer(rebasing: buffer[..<count]), to: copy) { throw failure }
        }
    }

    private static func write(_ bytes: UnsafeRawBufferPointer, to file: Int32) -> POSIXFailure? {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = Glibc.write(file, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            if count < 0, cll_errno() == EINTR { continue }
            guard count > 0 else { return POSIXFailure(count < 0 ? cll_errno() : ENOSPC) }
            rest = rest.dropFirst(count)
        }
        return nil
    }
}
