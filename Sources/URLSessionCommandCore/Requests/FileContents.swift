import Foundation

#if canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Reads a file without relying on its size: pipes have none, and files in `/proc` report 0.
enum FileContents {
    static let standardInput = "/dev/stdin"

    /// Opens a file for reading. Of standard input what is open is read from where it is: a pipe whose writer has
    /// closed it cannot be opened by its path.
    /// - Returns: A descriptor, or -1 with `errno`.
    static func open(_ path: String) -> Int32 {
        if path == standardInput, !isRegular(STDIN_FILENO) { return fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) }
        #if canImport(Musl)
            let descriptor = Musl.open(path, O_RDONLY | O_CLOEXEC)
        #else
            let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        #endif
        // A file can be read again from there.
        if path == standardInput, descriptor >= 0 { lseek(descriptor, standardInputOffset, SEEK_SET) }
        return descriptor
    }

    /// Where standard input is read if it is a file, in bytes.
    static var standardInputOffset: off_t { max(lseek(STDIN_FILENO, 0, SEEK_CUR), 0) }

    private static func isRegular(_ descriptor: Int32) -> Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// The whole file. Fails with `EFBIG` above 16 MiB, because a pipe may be endless.
    static func readAll(_ path: String) throws(FileError) -> Data {
        let limit = 16 << 20
        let data = try read(path, atMost: limit + 1)
        guard data.count <= limit else { throw FileError(path: path, code: EFBIG) }
        return data
    }

    /// - Parameter limit: The maximum number of bytes to read.
    static func read(_ path: String, atMost limit: Int) throws(FileError) -> Data {
        let descriptor = open(path)
        guard descriptor >= 0 else { throw FileError(path: path, code: errno) }
        defer { close(descriptor) }
        var data = Data()
        var buffer = [UInt8](repeating: 0, count: min(limit, 64 * 1024))
        while data.count < limit {
            let room = min(buffer.count, limit - data.count)
            #if canImport(Musl)
                let count = Musl.read(descriptor, &buffer, room)
            #else
                let count = Glibc.read(descriptor, &buffer, room)
            #endif
            if count == 0 { return data }
            if count > 0 {
                data += buffer[..<count]
            } else if errno == EAGAIN {
                var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                _ = poll(&waiting, 1, -1)
            } else if errno != EINTR {
                throw FileError(path: path, code: errno)
            }
        }
        return data
    }
}
