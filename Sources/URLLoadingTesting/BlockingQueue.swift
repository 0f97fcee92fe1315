internal import Foundation

/// Runs work that may block, one piece after the other, on a thread that exists while there is some.
///
/// Not a dispatch queue: those of a process share a few hundred threads, and all of them could be blocked.
final class BlockingQueue: @unchecked Sendable {
    // Sendable: `lock` guards the mutable state.

    private let start: @Sendable (@escaping @Sendable () -> Void) -> Bool
    private let lock = NSLock()
    private var waiting: [@Sendable () -> Void] = []
    private var isRunning = false

    /// - Parameter start: Starts a thread. False if the system refuses.
    init(start: @escaping @Sendable (@escaping @Sendable () -> Void) -> Bool) { self.start = start }

    func async(_ work: @escaping @Sendable () -> Void) {
        let mustStart = lock.withLock {
            waiting.append(work)
            defer { isRunning = true }
            return !isRunning
        }
        // Without a thread of its own the work may have to wait for others.
        if mustStart, !start({ self.run() }) { DispatchQueue.global().async { self.run() } }
    }

    private func run() {
        while let work = next() { work() }
    }

    private func next() -> (@Sendable () -> Void)? {
        lock.withLock {
            isRunning = !waiting.isEmpty
            return waiting.isEmpty ? nil : waiting.removeFirst()
        }
    }
}
