import Foundation

/// Counts completions, and waits for a number of them.
final class Counter: @unchecked Sendable {
    // Sendable because the mutable state is guarded by `condition`.
    private let condition = NSCondition()
    private var count = 0
    private var failureCount = 0

    var failures: Int { condition.withLock { failureCount } }

    func add(isFailure: Bool) {
        condition.lock()
        count += 1
        if isFailure { failureCount += 1 }
        condition.broadcast()
        condition.unlock()
    }

    func wait(for wanted: Int) {
        condition.lock()
        while count < wanted { condition.wait() }
        condition.unlock()
    }
}
