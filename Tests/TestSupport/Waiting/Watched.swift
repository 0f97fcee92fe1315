internal import Foundation

/// A thread-safe value whose changes can be awaited, by blocking or suspending.
///
/// The value's type must not have size 0: the thread sanitizer would report changes of it as races with the object's
/// header.
///
/// `@unchecked Sendable`: the value and the waiters are touched under `condition` only.
package final class Watched<Value>: @unchecked Sendable {
    private struct Waiter {
        /// Returns true if the waiter was resumed.
        let offer: (Value) -> Bool
        let fail: (any Error) -> Void
    }

    private let condition = NSCondition()
    private var value: Value
    private var waiters: [Int: Waiter] = [:]
    private var nextWaiter = 0

    package init(_ value: Value) {
        self.value = value
    }

    /// Reads or changes the value, and then re-evaluates all waits.
    @discardableResult
    package func withValue<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        condition.lock()
        defer { condition.unlock() }
        let result = try body(&value)
        waiters = waiters.filter { !$0.value.offer(value) }
        condition.broadcast()
        return result
    }

    /// A copy of the value.
    package var current: Value {
        condition.lock()
        defer { condition.unlock() }
        return value
    }

    /// Blocks until `find` returns a value.
    @discardableResult
    package func wait<Found>(
        for awaited: @autoclosure () -> String, within deadline: Duration = .testDeadline,
        until find: (Value) throws -> Found?
    ) throws -> Found {
        let end = Date(timeIntervalSinceNow: deadline / .seconds(1))
        condition.lock()
        defer { condition.unlock() }
        while true {
            if let found = try find(value) { return found }
            guard condition.wait(until: end) else {
                if let found = try find(value) { return found }
                throw DeadlineExceeded(awaited: awaited(), deadline: deadline, seen: String(describing: value))
            }
        }
    }

    /// Suspends until `find` returns a value.
    @discardableResult
    package func wait<Found: Sendable>(
        for awaited: @autoclosure () -> String, within deadline: Duration = .testDeadline,
        until find: @escaping @Sendable (Value) throws -> Found?
    ) async throws -> Found {
        let id = takeNumber()
        let awaited = awaited()
        let timer = Task {
            try await Task.sleep(for: deadline)
            self.fail(id) {
                DeadlineExceeded(awaited: awaited, deadline: deadline, seen: String(describing: $0))
            }
        }
        defer { timer.cancel() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { self.add(id, continuation: $0, find: find) }
        } onCancel: {
            fail(id) { _ in CancellationError() }
        }
    }

    private func takeNumber() -> Int {
        condition.lock()
        defer { condition.unlock() }
        nextWaiter += 1
        return nextWaiter
    }

    private func add<Found: Sendable>(
        _ id: Int, continuation: CheckedContinuation<Found, any Error>,
        find: @escaping @Sendable (Value) throws -> Found?
    ) {
        let offer: (Value) -> Bool = { value in
            do {
                guard let found = try find(value) else { return false }
                continuation.resume(returning: found)
            } catch {
                continuation.resume(throwing: error)
            }
            return true
        }
        condition.lock()
        defer { condition.unlock() }
        if Task.isCancelled {
            // The cancellation handler may have run before the waiter was added.
            continuation.resume(throwing: CancellationError())
        } else if !offer(value) {
            waiters[id] = Waiter(offer: offer, fail: { continuation.resume(throwing: $0) })
        }
    }

    private func fail(_ id: Int, with error: (Value) -> any Error) {
        condition.lock()
        defer { condition.unlock() }
        waiters.removeValue(forKey: id)?.fail(error(value))
    }
}
