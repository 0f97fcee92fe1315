internal import Glibc
internal import LoadingEvents

/// Does what is left to do where no loop runs: in a process that was forked off, and as long as the system starts no thread.
/// That is the ends of tasks, and what their callers hear of them.
///
/// One piece of work after the other, in the order in which they came, on a thread of its own; where none can be started, on
/// that of the caller who came first.
package final class WorkWithoutLoop: @unchecked Sendable {
    // Sendable because everything is guarded by `lock`.

    /// A process that was forked off has its own, since its parent's may have been in use by a thread that it does not have.
    private static let inForkedProcess = WorkWithoutLoop()
    private static let inThisProcess = WorkWithoutLoop()

    private let lock = Lock()
    private var waiting: [@Sendable () -> Void] = []
    private var isRunning = false
    /// The thread that does the work.
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

    /// Whether the caller is called by such work, so that what he would wait for comes after him.
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
