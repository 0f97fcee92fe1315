#if canImport(Musl)
    import Musl
#else
    import Glibc
#endif

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
