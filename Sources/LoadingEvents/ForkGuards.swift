internal import CLoadingLinux

/// State that is used in a forked process. Its locks are held during the fork, because otherwise another thread of the
/// parent might hold one. The child does not have that thread, so the lock would never be released, and the state could
/// be inconsistent.
package protocol ForkGuarded: AnyObject, Sendable {
    /// Acquires the locks. Skips a lock that is still held at the deadline, in nanoseconds of the monotonic clock.
    func hold(until deadline: Int64)
    /// Releases the acquired locks. Returns objects to be released after all locks are.
    func release(inChild: Bool) -> [AnyObject]
}

/// All guarded state of the process.
package final class ForkGuards: @unchecked Sendable {
    // Sendable because everything is guarded by `lock`.

    package static let shared = ForkGuards()

    private struct Member {
        weak var guarded: (any ForkGuarded)?
    }

    /// Held during a fork.
    private let lock = Lock()
    private var members: [Member] = []
    private var held: [any ForkGuarded] = []
    /// The number of members at which deallocated ones are removed.
    private var sweepCount = 64

    /// In nanoseconds. Prevents a deadlock if a thread forks while it holds one of the locks, or if locks are acquired in
    /// another order.
    private static let timeout: Int64 = 100_000_000

    private init() {}

    package func add(_ guarded: any ForkGuarded) {
        lock.withLock {
            if members.count >= sweepCount {
                members.removeAll { $0.guarded == nil }
                sweepCount = max(64, members.count * 2)
            }
            members.append(Member(guarded: guarded))
        }
    }

    func hold() {
        lock.lock()
        held = members.compactMap(\.guarded)
        let deadline = cll_now() + Self.timeout
        for guarded in held { guarded.hold(until: deadline) }
    }

    func release(inChild: Bool) {
        let held = held
        self.held = []
        let leftovers = held.reversed().flatMap { $0.release(inChild: inChild) }
        lock.unlock()
        // A deinit may run code of the application, which may take locks.
        withExtendedLifetime((held, leftovers)) {}
    }
}

/// Detects a process that was created by `fork` without `exec`, and so lacks the threads of its parent.
package enum ForkedProcess {
    /// Starts detection. Processes that were forked earlier are not affected, because this library had not started a
    /// thread then.
    package static func watch() {
        cll_watch_forks({ ForkGuards.shared.hold() }, { ForkGuards.shared.release(inChild: $0) })
    }

    /// Whether this process was forked after `watch`.
    @inline(__always)
    package static var isCurrent: Bool { cll_is_forked() }
}
