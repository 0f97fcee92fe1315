internal import Glibc

/// The clock of the checks for what other processes have stored. Reading it costs little.
enum CoarseClock {
    /// In seconds; monotonic.
    static var now: Int {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC_COARSE, &now)
        return now.tv_sec
    }
}
