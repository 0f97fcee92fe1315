internal import Glibc

/// File descriptors that connections leave to the rest of the process. libdispatch, for example, aborts if it cannot
/// open a file in /proc.
enum DescriptorReserve {
    private static let most: rlim_t = 16

    /// Whether a descriptor belongs to the reserve. The kernel assigns the lowest free number, so a high one means that
    /// few are left.
    static func contains(_ descriptor: Int32) -> Bool {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return false }
        return rlim_t(descriptor) >= limit.rlim_cur - min(most, limit.rlim_cur / 4)
    }

    /// The errno if even the reserve is used up, so that no file can be opened; otherwise 0.
    static var shortage: Int32 {
        let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
        if descriptor < 0 { return [EMFILE, ENFILE].contains(errno) ? errno : 0 }
        close(descriptor)
        return 0
    }
}
