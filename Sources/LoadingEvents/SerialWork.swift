internal import Glibc

/// Runs work that may block, one piece after the other, on a thread that exists while there is some.
package final class SerialWork: @unchecked Sendable {
    // Sendable because everything is guarded by `lock`.

    private let start: @Sendable (@escaping @Sendable () -> Void) -> Bool
    private let lock = Lock()
    private var waiting: [@Sendable () -> Void] = []
    private var isRunning = false
    /// The thread that runs the work.
    private var worker: pthread_t?

    /// - Parameter start: Starts a thread. If it returns false, the work runs on the thread of the first caller.
    package init(start: @escaping @Sendable (@escaping @Sendable () -> Void) -> Bool) { self.start = start }

    package func perform(_ work: @escaping @Sendable () -> Void) {
        let mustStart = lock.withLock {
            waiting.append(work)
            defer { isRunning = true }
            return !isRunning
        }
        if mustStart, !start({ self.run() }) { run() }
    }

    /// Whether the calling thread runs such work, so that it must not wait for later work.
    package var isCallerPartOfIt: Bool {
        let caller = pthread_self()
        return lock.withLock { worker.map { pthread_equal($0, caller) != 0 } ?? false }
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
