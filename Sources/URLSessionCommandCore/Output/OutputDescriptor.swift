#if canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The file or standard stream that a body goes to. Blocking: a slow reader holds up the transfer, as it should.
package struct OutputDescriptor {
    private let descriptor: Int32
    package let name: String

    package static let standardOutput = OutputDescriptor(descriptor: STDOUT_FILENO, name: "standard output")
    package static let standardError = OutputDescriptor(descriptor: STDERR_FILENO, name: "standard error")

    private init(descriptor: Int32, name: String) {
        self.descriptor = descriptor
        self.name = name
    }

    /// Makes the file, or empties the one that is there.
    ///
    /// - Parameter isPrivate: Whether it is for this user's eyes only. What is no file keeps its mode.
    package static func create(path: String, isPrivate: Bool = false) throws(WriteError) -> OutputDescriptor {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, isPrivate ? 0o600 : 0o666)
        guard descriptor >= 0 else { throw WriteError(path: path, code: errno) }
        var status = stat()
        if isPrivate, fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            fchmod(descriptor, 0o600) != 0
        {
            let code = errno
            close(descriptor)
            throw WriteError(path: path, code: code)
        }
        return OutputDescriptor(descriptor: descriptor, name: path)
    }

    package func write(_ bytes: UnsafeRawBufferPointer) throws(WriteError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let slice = UnsafeRawBufferPointer(rebasing: rest)
            #if canImport(Musl)
                let count = Musl.write(descriptor, slice.baseAddress, slice.count)
            #else
                let count = Glibc.write(descriptor, slice.baseAddress, slice.count)
            #endif
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&waiting, 1, -1)
            } else if errno != EINTR {
                throw WriteError(path: name, code: errno)
            }
        }
    }

    package func write(_ bytes: [UInt8]) throws(WriteError) {
        var failure: WriteError?
        bytes.withUnsafeBytes { buffer in
            do throws(WriteError) { try write(buffer) } catch { failure = error }
        }
        if let failure { throw failure }
    }

    package func write(_ text: String) throws(WriteError) {
        try write(Array(text.utf8))
    }

    /// Closing can report what writing did not (a full disk, a quota).
    package func finish() throws(WriteError) {
        guard descriptor > STDERR_FILENO else { return }
        guard close(descriptor) == 0 || errno == EINTR else { throw WriteError(path: name, code: errno) }
    }
}
