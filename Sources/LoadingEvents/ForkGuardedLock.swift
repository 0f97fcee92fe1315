internal import Synchronization

/// The lock of `ForkGuarded` state: a `Lock` that is also held during forks.
@usableFromInline
package struct ForkGuardedLock: ~Copyable, Sendable {
    @usableFromInline let base: Lock
    /// Whether it is held for a fork. Changed only by the thread that forks.
    private let isHeld = Atomic(false)

    package init(_ level: Lock.Level = .inner) { base = Lock(level) }

    @inlinable
    @inline(__always)
    package func lock() { base.lock() }

    @inlinable
    @inline(__always)
    package func unlock() { base.unlock() }

    @inlinable
    @inline(__always)
    package func withLock<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        base.lock()
        defer { base.unlock() }
        return try body()
    }

    /// Takes the lock for a fork, unless it is still held at that time of the monotonic clock.
    @discardableResult
    package func hold(until deadline: Int64) -> Bool {
        guard base.lock(until: deadline) else { return false }
        isHeld.store(true, ordering: .relaxed)
        return true
    }

    /// Runs `body` with the lock held, unless it is still held at that time of the monotonic clock.
    package func withLock(until deadline: Int64, _ body: () -> Void) {
        guard base.lock(until: deadline) else { return }
        defer { base.unlock() }
        body()
    }

    /// Releases what `hold` has taken; before that, `last` runs with it held.
    package func release(_ last: () -> Void = {}) {
        guard isHeld.exchange(false, ordering: .relaxed) else { return }
        last()
        base.unlock()
    }
}
