internal import Glibc

/// The last descriptors of the process, which connections leave to everybody else: libdispatch, for one, ends a process
/// in which it cannot open a file of /proc.
enum DescriptorReserve {
    private static let most: rlim_t = 16

    /// Whether a descriptor belongs to the reserve. The kernel gives the lowest free number, so a high one says that
    /// hardly any is left.
    static func contains(_ descriptor: Int32) -> Bool {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return false }
        return rlim_t(descriptor) >= limit.rlim_cur - min(most, limit.rlim_cur / 4)
    }

    /// Whether even the reserve is used up: no file can be opened. 0, or the errno that says so.
    static var shortage: Int32 {
        let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
        if descriptor < 0 { return [EMFILE, ENFILE].contains(errno) ? errno : 0 }
        close(descriptor)
        return 0
    }
}
