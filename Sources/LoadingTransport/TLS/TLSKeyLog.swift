internal import CLoadingLinux
internal import Glibc
internal import LoadingEvents
internal import Synchronization

/// The secrets of TLS connections in the NSS key log format, with which other tools decrypt recorded packets.
///
/// If the environment variable `SSLKEYLOGFILE` names a file, all connections of the process append to it. Thread-safe
/// without a lock: a line is one `write` with `O_APPEND`, so lines of different threads and processes do not mix.
package enum TLSKeyLog {
    /// The variable's value at the first use, or nil. A process that has other privileges than the user who started it
    /// has none.
    private static let path: String? = {
        guard let path = cll_environment("SSLKEYLOGFILE").map({ String(cString: $0) }) else { return nil }
        return path.isEmpty ? nil : path
    }()

    /// -1 if the file cannot be opened. Otherwise open until the process ends.
    private static let descriptor: Int32 = {
        guard let path else { return -1 }
        // A pipe that is not read must not block a loop.
        let flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY
        var descriptor = open(path, flags | O_NOFOLLOW, 0o600)
        let code = errno
        var reason = String(cString: strerror(code))
        if descriptor < 0, code == ELOOP {
            if isForeignLink(path) {
                reason = "The link belongs to another user"
            } else {
                // `/dev/stderr` is a link, and so is what a shell passes for `>(command)`.
                descriptor = open(path, flags, 0o600)
                reason = String(cString: strerror(errno))
            }
        }
        if descriptor >= 0 {
            if !isForeign(descriptor) { return descriptor }
            close(descriptor)
            reason = "The file belongs to another user"
        }
        StandardError.report("SSLKEYLOGFILE: \(path): \(reason). No TLS keys are written")
        return -1
    }()

    /// Whether another user has made the file, and may read it. A terminal may belong to the user who has become this
    /// one.
    private static func isForeign(_ descriptor: Int32) -> Bool {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return true }
        return status.st_mode & S_IFMT != S_IFCHR && isForeign(status)
    }

    /// Whether another user has made the link, which may lead to any file of this one.
    private static func isForeignLink(_ path: String) -> Bool {
        var status = stat()
        guard lstat(path, &status) == 0 else { return true }
        return isForeign(status)
    }

    private static func isForeign(_ status: stat) -> Bool { status.st_uid != geteuid() && status.st_uid != 0 }

    private static let isOn = Atomic(true)

    /// Whether the environment names a file. Otherwise the TLS libraries are not asked for secrets.
    package static var hasFile: Bool { path != nil }

    /// Whether the program allows it. Without that the file is not opened.
    package static var isAllowed: Bool {
        get { isOn.load(ordering: .relaxed) }
        set { isOn.store(newValue, ordering: .relaxed) }
    }

    /// - Parameter line: Without a line feed.
    package static func write(_ line: UnsafePointer<CChar>) {
        guard isAllowed, descriptor >= 0 else { return }
        var bytes = [UInt8](UnsafeRawBufferPointer(start: line, count: strlen(line)))
        bytes.append(UInt8(ascii: "\n"))
        bytes.withUnsafeBytes { cll_write_message(descriptor, $0.baseAddress, $0.count) }
    }
}
