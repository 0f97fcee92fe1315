internal import CLoadingLinux
internal import Glibc
internal import Synchronization

/// A mutex of four bytes: one compare-and-swap if uncontended, a futex otherwise.
///
/// Not `Synchronization.Mutex`, because the thread sanitizer does not see that one and reports false races. Not
/// recursive. Hold it only for a few instructions, and not during callouts.
package struct Lock: ~Copyable, Sendable {
    /// 0: free; 1: held; 2: held, with sleeping waiters.
    private let word = Atomic<UInt32>(0)

    package init() {}

    package func lock() {
        if word.compareExchange(expected: 0, desired: 1, ordering: .acquiring).exchanged { return }
        lockSlowly()
    }

    /// Acquires the lock. Returns false if it is still held at the deadline, in nanoseconds of the monotonic clock.
    package func lock(until deadline: Int64) -> Bool {
        while !word.compareExchange(expected: 0, desired: 1, ordering: .acquiring).exchanged {
            if cll_now() >= deadline { return false }
            sched_yield()
        }
        return true
    }

    package func unlock() {
        if word.exchange(0, ordering: .releasing) == 2 { wakeOne() }
    }

    /// Runs `body` with the lock held.
    @inline(__always)
    package func withLock<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        lock()
        defer { unlock() }
        return try body()
    }

    @inline(never)
    private func lockSlowly() {
        while word.exchange(2, ordering: .acquiring) != 0 {
            withUnsafePointer(to: word) { cll_futex_wait($0, 2, -1) }
        }
    }

    @inline(never)
    private func wakeOne() {
        withUnsafePointer(to: word) { cll_futex_wake($0, 1) }
    }
}
