internal import CLoadingLinux

/// What a process that was forked off uses of its parent's: its locks are taken while the process is forked. Otherwise another
/// thread of the parent may hold one of them at that moment, and in the new process, which does not have that thread, it is held
/// for ever, and what it guards is half changed.
package protocol ForkGuarded: AnyObject, Sendable {
    /// Takes the locks, each unless it is still held at that time of the monotonic clock.
    func hold(until deadline: Int64)
    /// Releases those that were taken, and gives what was held meanwhile and may be let go of when all are released.
    func release(inChild: Bool) -> [AnyObject]
}

/// All that there is of it in the process.
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
    /// With so many members the gone leave.
    private var sweepCount = 64

    /// A thread that forks with a lock held, or waits for one in another order, must not wait for itself.
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
