import Foundation

#if canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Reads a file, whatever its size says: a pipe has none, and files of `/proc` say 0.
enum FileContents {
    /// All of it. What is longer than any file of certificates is `EFBIG`: a pipe need not have an end.
    static func readAll(_ path: String) throws(WriteError) -> Data {
        let limit = 16 << 20
        let data = try read(path, atMost: limit + 1)
        guard data.count <= limit else { throw WriteError(path: path, code: EFBIG) }
        return data
    }

    /// - Parameter limit: In bytes.
    static func read(_ path: String, atMost limit: Int) throws(WriteError) -> Data {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw WriteError(path: path, code: errno) }
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
                throw WriteError(path: path, code: errno)
            }
        }
        return data
    }
}
