import Foundation

/// Counts ends and lets somebody wait for a number of them.
final class Counter: @unchecked Sendable {
    // Sendable because everything mutable is guarded by `condition`.
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
