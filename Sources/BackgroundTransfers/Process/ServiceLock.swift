internal import CLoadingLinux
internal import Glibc
internal import LoadingSemantics

/// The lock whose holder decides who listens at the socket of a place. Released by `release`, and by the end of the
/// process.
struct ServiceLock {
    private let descriptor: Int32

    /// Waits for other holders until the time limit.
    static func wait(at path: String) throws(ServiceStartFailure) -> ServiceLock {
        let limits = TimeLimits.standard
        for _ in 0..<limits.serviceStart / limits.serviceLockRetry {
            if let lock = try ifFree(at: path) { return lock }
            usleep(UInt32(limits.serviceLockRetry / 1000))
        }
        throw .locked(path)
    }

    /// Nil while another process holds it.
    static func ifFree(at path: String) throws(ServiceStartFailure) -> ServiceLock? {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else { throw .socket(path, cll_errno()) }
        if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return ServiceLock(descriptor: descriptor) }
        let code = cll_errno()
        close(descriptor)
        if code == EWOULDBLOCK { return nil }
        throw .socket(path, code)
    }

    func release() {
        // A process that was forked meanwhile has the descriptor too.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }
}
