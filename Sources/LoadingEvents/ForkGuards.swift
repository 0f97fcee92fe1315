internal import CLoadingLinux

/// State that a forked process uses. Its locks are held during the fork: otherwise another thread of the parent may hold one of them
/// at that moment. In the child, which does not have that thread, the lock would never be released, and the state could be
/// inconsistent.
package protocol ForkGuarded: AnyObject, Sendable {
    /// Takes the locks, each unless it is still held at that time of the monotonic clock.
    func hold(until deadline: Int64)
    /// Releases those that were taken, and gives what was held meanwhile and may be let go of when all are released.
    func release(inChild: Bool) -> [AnyObject]
}

/// All guarded state of the process.
package final class ForkGuards: @unchecked Sendable {
    // Sendable because everything is guarded by `lock`.

    package static let shared = ForkGuards()

    private struct Member {
        weak var guarded: (any ForkGuarded)?
    }

    /// Held from before a fork until after it.
    private let lock = Lock()
    private var members: [Member] = []
    private var held: [any ForkGuarded] = []
    /// The number of members at which those that no longer exist are removed.
    private var sweepCount = 64

    /// Nanoseconds. A thread may fork while it holds one of the locks, or locks may be taken in another order: neither must
    /// deadlock.
    private static let patience: Int64 = 100_000_000

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
        let deadline = cll_now() + Self.patience
        for guarded in held { guarded.hold(until: deadline) }
    }

    func release(inChild: Bool) {
        let held = held
        self.held = []
        let leftovers = held.reversed().flatMap { $0.release(inChild: inChild) }
        lock.unlock()
        // The end of one of them may be the caller's code, which takes locks.
        withExtendedLifetime((held, leftovers)) {}
    }
}
