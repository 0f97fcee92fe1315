#if canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Standard input, read in pieces. Nothing is read ahead: what is not asked for stays with the writer.
struct StandardInput: Sendable {
    private static let pieceSize = 64 * 1024

    private let calls = BlockingCalls("urlsession.input")

    /// The next bytes, at most 64 KiB; empty at the end.
    func read() async throws(FileError) -> [UInt8] {
        let result = await calls.run { Self.readPiece() }
        return try result.get()
    }

    private static func readPiece() -> Result<[UInt8], FileError> {
        var code: Int32 = 0
        let piece = [UInt8](unsafeUninitializedCapacity: pieceSize) { buffer, count in
            while true {
                #if canImport(Musl)
                    let read = Musl.read(STDIN_FILENO, buffer.baseAddress, buffer.count)
                #else
                    let read = Glibc.read(STDIN_FILENO, buffer.baseAddress, buffer.count)
                #endif
                if read >= 0 {
                    count = read
                    return
                }
                if errno == EAGAIN {
                    var waiting = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
                    _ = poll(&waiting, 1, -1)
                } else if errno != EINTR {
                    code = errno
                    return
                }
            }
        }
        return code == 0 ? .success(piece) : .failure(FileError(path: "standard input", code: code))
    }
}
