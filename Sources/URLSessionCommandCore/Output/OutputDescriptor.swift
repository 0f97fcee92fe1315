#if canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The file or standard stream that a body is written to. Writes block, so a slow reader slows the transfer down.
package struct OutputDescriptor {
    private let descriptor: Int32
    package let name: String

    package static let standardOutput = OutputDescriptor(descriptor: STDOUT_FILENO, name: "standard output")
    package static let standardError = OutputDescriptor(descriptor: STDERR_FILENO, name: "standard error")

    private init(descriptor: Int32, name: String) {
        self.descriptor = descriptor
        self.name = name
    }

    /// Creates the file, or truncates an existing one.
    ///
    /// - Parameter isPrivate: Whether only the owner may read it (mode 0600). Applies to regular files only.
    /// - Parameter keepsMode: Whether a file that exists keeps its mode.
    /// - Parameter isNew: Whether an existing file is an error (EEXIST).
    package static func create(
        path: String, isPrivate: Bool = false, keepsMode: Bool = false, isNew: Bool = false
    ) throws(FileError) -> OutputDescriptor {
        let flags = O_WRONLY | O_CREAT | O_CLOEXEC | (isNew ? O_EXCL : O_TRUNC)
        let descriptor = open(path, flags, isPrivate ? 0o600 : 0o666)
        guard descriptor >= 0 else { throw FileError(path: path, code: errno) }
        var status = stat()
        if isPrivate, !keepsMode, fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            fchmod(descriptor, 0o600) != 0
        {
            let code = errno
            close(descriptor)
            throw FileError(path: path, code: code)
        }
        return OutputDescriptor(descriptor: descriptor, name: path)
    }

    /// Creates the destination if it is a file.
    static func opened(_ destination: CommandLineRequest.Destination) throws(FileError) -> OutputDescriptor {
        switch destination {
        case .standardOutput: .standardOutput
        case .file(let path): try create(path: path)
        }
    }

    package func write(_ bytes: UnsafeRawBufferPointer) throws(FileError) {
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
                throw FileError(path: name, code: errno)
            }
        }
    }

    package func write(_ bytes: [UInt8]) throws(FileError) {
        var failure: FileError?
        bytes.withUnsafeBytes { buffer in
            do throws(FileError) { try write(buffer) } catch { failure = error }
        }
        if let failure { throw failure }
    }

    package func write(_ text: String) throws(FileError) {
        try write(Array(text.utf8))
    }

    /// Whether what was written can be replaced.
    var isRegularFile: Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// Writes text from a server. On a terminal, control characters are shown instead of obeyed.
    func write(shown text: String) throws(FileError) {
        guard isatty(descriptor) == 1 else { return try write(text) }
        var sanitizer = TextSanitizer()
        var output: [UInt8] = []
        for byte in text.utf8 { sanitizer.add(byte, to: &output) }
        sanitizer.finish(to: &output)
        try write(output)
    }

    /// Sets the file's time of change, in seconds since 1970. A failure is ignored.
    func setTime(_ time: Int64) {
        let times = [timespec(tv_sec: Int(time), tv_nsec: 0), timespec(tv_sec: Int(time), tv_nsec: 0)]
        _ = futimens(descriptor, times)
    }

    /// Closes the file. `close` can report errors that `write` did not, such as an exceeded quota.
    package func finish() throws(FileError) {
        guard descriptor > STDERR_FILENO else { return }
        guard close(descriptor) == 0 || errno == EINTR else { throw FileError(path: name, code: errno) }
    }
}

/// Writes messages to standard error. Failures are ignored.
enum StandardError {
    static func write(_ text: String) {
        try? OutputDescriptor.standardError.write(text)
    }
}

/// A failed system call on a file or socket.
package struct FileError: Error, Equatable, Sendable {
    package var path: String
    package var code: Int32

    package init(path: String, code: Int32) {
        self.path = path
        self.code = code
    }

    package var reason: String { String(cString: strerror(code)) }
    package var isBrokenPipe: Bool { code == EPIPE }
}

/// The descriptors 0, 1 and 2.
enum StandardDescriptors {
    /// Opens those that are closed, as after `2>&-`. Otherwise the next file or socket would get the number, and would
    /// receive the messages. Each is opened for the wrong direction, so that its use fails as that of a closed one.
    static func openClosed() {
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO]
        where fcntl(descriptor, F_GETFD) < 0 && errno == EBADF {
            // The lowest free number is taken.
            _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }
}
