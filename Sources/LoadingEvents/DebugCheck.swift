#if DEBUG
    internal import CLoadingLinux
    internal import Synchronization

    /// What debug builds do about a violated rule of this library: they write one line to standard error, and go on.
    /// With `URLSESSION_CHECKS=abort`, as in this library's own tests, they stop.
    package enum DebugCheck {
        private static let aborts = cll_environment("URLSESSION_CHECKS").map { String(cString: $0) == "abort" } ?? false
        private static let isReported = Atomic(false)

        package static func fail(_ message: @autoclosure () -> String) {
            // Unreachable unless the variable is set.
            if aborts { preconditionFailure(message()) }
            if isReported.exchange(true, ordering: .relaxed) { return }
            StandardError.write("\(message()), which is an error of this library")
        }
    }
#endif
