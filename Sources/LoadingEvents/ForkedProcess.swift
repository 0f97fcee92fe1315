internal import CLoadingLinux

/// Detects a process that was created by `fork` without `exec`, and so lacks the threads of its parent.
package enum ForkedProcess {
    /// Starts detection. Processes that were forked earlier are not affected, because this library had not started a
    /// thread then.
    package static func watch() {
        cll_watch_forks({ ForkGuards.shared.hold() }, { ForkGuards.shared.release(inChild: $0) })
    }

    /// Whether this process was forked after `watch`.
    @inline(__always)
    package static var isCurrent: Bool { cll_is_forked() }
}
