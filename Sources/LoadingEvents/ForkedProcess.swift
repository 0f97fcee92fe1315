internal import CLoadingLinux

/// Tells a process that was made by `fork` without `exec` from the one that has the threads.
package enum ForkedProcess {
    /// From now on the processes that are forked off know what they are. Those of before have started no thread here, so
    /// nothing is missing in them.
    package static func watch() {
        cll_watch_forks({ ForkGuards.shared.hold() }, { ForkGuards.shared.release(inChild: $0) })
    }

    /// Whether this process was forked off since.
    @inline(__always)
    package static var isOne: Bool { cll_is_forked() }
}
