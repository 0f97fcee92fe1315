import Glibc

/// The number of descriptors that this process may have.
enum DescriptorLimit {
    /// Raises it as far as the system allows, up to 65,536. Returns it.
    @discardableResult
    static func raise() -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 0 }
        let wanted = rlim_t(65_536)
        if limit.rlim_cur < wanted {
            // Only root may raise the hard limit.
            var higher = rlimit(rlim_cur: wanted, rlim_max: max(wanted, limit.rlim_max))
            if setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &higher) != 0 {
                higher = rlimit(rlim_cur: min(wanted, limit.rlim_max), rlim_max: limit.rlim_max)
                setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &higher)
            }
        }
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return Int(limit.rlim_cur)
    }
}
