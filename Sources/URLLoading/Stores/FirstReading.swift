internal import LoadingEvents
internal import Synchronization

/// The waiters for a one-time read, which are called in order.
final class FirstReading: @unchecked Sendable {
    // Sendable: `lock` guards `awaiting`.
    private let lock = Lock()
    private var awaiting: [@Sendable () -> Void] = []
    private let isOver = Atomic(false)

    /// Whether the read has ended and all waiters have been called.
    var isDone: Bool { isOver.load(ordering: .acquiring) }

    /// Adds a waiter. Returns false if the read has ended already; then the waiter is not called.
    func add(_ body: @escaping @Sendable () -> Void) -> Bool {
        lock.withLock {
            if isOver.load(ordering: .relaxed) { return false }
            awaiting.append(body)
            return true
        }
    }

    /// Ends the read: calls all waiters in order, and only then counts as done.
    func end() {
        while true {
            let waiting = lock.withLock {
                if awaiting.isEmpty { isOver.store(true, ordering: .releasing) }
                defer { awaiting = [] }
                return awaiting
            }
            if waiting.isEmpty { return }
            for body in waiting { body() }
        }
    }
}
