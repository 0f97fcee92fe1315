internal import CLoadingLinux
internal import Glibc
public import Synchronization

/// A mutex of four bytes: one compare-and-swap if uncontended, a futex otherwise.
///
/// Not `Synchronization.Mutex`, because the thread sanitizer does not see that one and reports false races. Not
/// recursive. Hold it only for a few instructions, and not during callouts. docs/threads.md lists the locks and the
/// order of those that are held together; debug builds check that order.
@usableFromInline
package struct Lock: ~Copyable, Sendable {
    /// A thread that holds a lock may acquire only locks of higher levels.
    package enum Level: UInt, Sendable {
        /// Held while locks of all other levels are acquired.
        case outer = 1
        /// Held while inner locks are acquired.
        case middle = 2
        /// Held while only the lock of the free buffers is acquired.
        case inner = 4
        /// The lock of the free buffers, which is acquired wherever the bytes of a body are released. No other lock is
        /// acquired while it is held.
        case buffers = 8
    }

    /// 0: free; 1: held; 2: held, with sleeping waiters.
    @usableFromInline let word = Atomic<UInt32>(0)

    #if DEBUG
        private let level: Level
        /// The levels of the locks that the calling thread holds, one bit each, and `uncheckedOrder`.
        private static var held: UInt {
            get { cll_levels_of_thread() }
            set { cll_set_levels_of_thread(newValue) }
        }
        private static var uncheckedOrder: UInt { 16 }
    #endif

    /// Whether the calling thread must take locks in the order of their levels. Not while it holds all locks of
    /// `ForkGuards` for a fork, some of which have the same level: it waits for each for a limited time, so no other
    /// thread can block it.
    @inline(__always)
    static var isOrderChecked: Bool {
        get {
            #if DEBUG
                held & uncheckedOrder == 0
            #else
                false
            #endif
        }
        set {
            #if DEBUG
                held = newValue ? held & ~uncheckedOrder : held | uncheckedOrder
            #endif
        }
    }

    package init(_ level: Level = .inner) {
        #if DEBUG
            self.level = level
        #endif
    }

    @inlinable
    @inline(__always)
    package func lock() {
        #if DEBUG
            noteLocking()
        #endif
        if word.compareExchange(expected: 0, desired: 1, ordering: .acquiring).exchanged { return }
        lockSlowly()
    }

    /// Acquires the lock. Returns false if it is still held at the deadline, in nanoseconds of the monotonic clock.
    /// Used for forks: the order is not checked.
    package func lock(until deadline: Int64) -> Bool {
        while !word.compareExchange(expected: 0, desired: 1, ordering: .acquiring).exchanged {
            if cll_now() >= deadline { return false }
            sched_yield()
        }
        return true
    }

    @inlinable
    @inline(__always)
    package func unlock() {
        #if DEBUG
            noteUnlocking()
        #endif
        if word.exchange(0, ordering: .releasing) == 2 { wakeOne() }
    }

    #if DEBUG
        @usableFromInline
        func noteUnlocking() {
            let held = Self.held
            if held & Self.uncheckedOrder == 0 { Self.held = held & ~level.rawValue }
        }

        @usableFromInline
        func noteLocking() {
            let held = Self.held
            if held & Self.uncheckedOrder != 0 { return }
            let bit = level.rawValue
            // Also when it is free: the order is wrong before two threads ever meet in it.
            if held >= bit {
                DebugCheck.fail("A lock of level \(level) is taken while one of its level or an inner one is held")
            }
            Self.held = held | bit
        }
    #endif

    /// Runs `body` with the lock held.
    @inlinable
    @inline(__always)
    package func withLock<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        lock()
        defer { unlock() }
        return try body()
    }

    @usableFromInline
    @inline(never)
    func lockSlowly() {
        while word.exchange(2, ordering: .acquiring) != 0 {
            withUnsafePointer(to: word) { cll_futex_wait($0, 2, -1) }
        }
    }

    @usableFromInline
    @inline(never)
    func wakeOne() {
        withUnsafePointer(to: word) { cll_futex_wake($0, 1) }
    }
}
