internal import CLoadingLinux
internal import Glibc
internal import LoadingSemantics

/// The right to use the files of a place, which one service at a time has, as long as its process lives.
///
/// It is a record lock, because the kernel reports which process holds one. The file contains the path of the service's
/// socket.
final class ServiceOwnership: Sendable {
    private let descriptor: Int32

    private init(_ descriptor: Int32) { self.descriptor = descriptor }

    /// Takes the lock for the service that listens at `socketPath`, or on a socket that systemd owns.
    ///
    /// A service that cannot be reached any more, because its socket was removed with the runtime folder of a login, is
    /// signalled to end. Returns nil if there is another service that can be reached, or that does not end in time.
    static func take(at path: String, socketPath: String) -> ServiceOwnership? {
        // It must not be opened twice in a process: closing one descriptor would release the lock.
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        // Where nothing can be written, the journal says so to each program. There is nothing to protect.
        guard descriptor >= 0 else { return ServiceOwnership(descriptor) }
        guard wait(for: descriptor, at: path, socketPath: socketPath) else {
            close(descriptor)
            return nil
        }
        let bytes = Array(socketPath.utf8)
        _ = ftruncate(descriptor, 0)
        _ = bytes.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
        return ServiceOwnership(descriptor)
    }

    private static func wait(for descriptor: Int32, at path: String, socketPath: String) -> Bool {
        let limits = TimeLimits.standard
        var asked: pid_t = 0
        for _ in 0..<limits.serviceStart / limits.serviceLockRetry {
            var lock = Self.lock
            if fcntl(descriptor, F_SETLK, &lock) == 0 { return true }
            // The file system has no locks.
            if cll_errno() != EAGAIN, cll_errno() != EACCES { return true }
            lock = Self.lock
            // 0 for a process of another namespace or machine.
            if fcntl(descriptor, F_GETLK, &lock) == 0, lock.l_type != Int16(F_UNLCK), lock.l_pid > 0,
                lock.l_pid != asked
            {
                guard isUnreachable(at: Self.socketPath(at: descriptor), unlike: socketPath) else { return false }
                asked = lock.l_pid
                kill(asked, SIGTERM)
            }
            usleep(UInt32(limits.serviceLockRetry / 1000))
        }
        return false
    }

    private static func isUnreachable(at other: String?, unlike own: String) -> Bool {
        guard let other, other != own, let found = try? ServiceStart.connectIfListening(other) else { return true }
        close(found)
        return false
    }

    private static var lock: Glibc.flock {
        var lock = Glibc.flock()
        lock.l_type = Int16(F_WRLCK)
        lock.l_whence = Int16(SEEK_SET)
        return lock
    }

    /// The path of the socket of the service that runs, or that ran last.
    static func socketPath(at path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        return socketPath(at: descriptor)
    }

    private static func socketPath(at descriptor: Int32) -> String? {
        let bytes = [UInt8](unsafeUninitializedCapacity: Int(PATH_MAX)) { buffer, count in
            count = max(0, pread(descriptor, buffer.baseAddress, buffer.count, 0))
        }
        let path = String(decoding: bytes, as: UTF8.self)
        return path.hasPrefix("/") && !path.utf8.contains(0) ? path : nil
    }
}
