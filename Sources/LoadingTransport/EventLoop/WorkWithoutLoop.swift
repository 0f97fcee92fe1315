internal import LoadingEvents

/// Runs the remaining work where no loop runs: in a forked process, and while the system cannot start a thread. That
/// work is the end of tasks, and the callbacks of their end.
///
/// The work runs serially, in the order of arrival, on a thread of its own. If none can be started, it runs on the
/// thread of the first caller.
package enum WorkWithoutLoop {
    /// A forked process has its own instance, because a thread that does not exist in it may have been using the
    /// parent's.
    private static let inForkedProcess = SerialWork { DetachedThread.startIfPossible(named: "url-loop", $0) }
    private static let inThisProcess = SerialWork { DetachedThread.startIfPossible(named: "url-loop", $0) }
    private static var current: SerialWork { ForkedProcess.isCurrent ? inForkedProcess : inThisProcess }

    package static func perform(_ work: @escaping @Sendable () -> Void) { current.perform(work) }

    /// Whether the calling thread runs such work, so that it must not wait for later work.
    package static var isCallerPartOfIt: Bool { current.isCallerPartOfIt }
}
