internal import Glibc
internal import LoadingEvents

/// Runs the remaining work where no loop runs: in a forked process, and while the system cannot start a thread. That
/// work is the end of tasks, and the callbacks of their end.
///
/// The work runs serially, in the order of arrival, on a thread of its own. If none can be started, it runs on the
/// thread of the first caller.
package final class WorkWithoutLoop: @unchecked Sendable {
    // Sendable because everything is guarded by `lock`.

    /// A forked process has its own instance, because a thread that does not exist in it may have been using the
    /// parent's.
    private static let inForkedProcess = WorkWithoutLoop()
    private static let inThisProcess = WorkWithoutLoop()

    private let lock = Lock()
    private var waiting: [@Sendable () -> Void] = []
    private var isRunning = false
    /// The thread that runs the work.
    private var worker: pthread_t?

    private init() {}

    package static func perform(_ work: @escaping @Sendable () -> Void) {
        (ForkedProcess.isCurrent ? inForkedProcess : inThisProcess).add(work)
    }

    private func add(_ work: @escaping @Sendable () -> Void) {
        let mustStart = lock.withLock {
            waiting.append(work)
            defer { isRunning = true }
            return !isRunning
        }
        guard mustStart else { return }
        if !DetachedThread.startIfPossible(named: "url-loop", { self.run() }) { run() }
    }

    /// Whether the calling thread runs such work, so that it must not wait for later work.
    package static var isCallerPartOfIt: Bool {
        (ForkedProcess.isCurrent ? inForkedProcess : inThisProcess).isWorker(pthread_self())
    }

    private func isWorker(_ thread: pthread_t) -> Bool {
        lock.withLock { worker.map { pthread_equal($0, thread) != 0 } ?? false }
    }

    private func run() {
        lock.withLock { worker = pthread_self() }
        while let work = next() { work() }
    }

    private func next() -> (@Sendable () -> Void)? {
        lock.withLock {
            isRunning = !waiting.isEmpty
            if !isRunning { worker = nil }
            return waiting.isEmpty ? nil : waiting.removeFirst()
        }
    }
}
