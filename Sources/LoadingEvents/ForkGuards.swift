internal import CLoadingLinux

/// State that a forked process uses. Its locks are held during the fork: otherwise another thread of the parent may
/// hold one of them at that moment. In the child, which does not have that thread, the lock would never be released,
/// and the state could be inconsistent.
///
/// An object that does not live as long as the process calls `ForkGuards.remove` first in its `deinit`, which waits for
/// a fork.
package protocol ForkGuarded: AnyObject, Sendable {
    /// Takes the locks, each unless it is still held at that time of the monotonic clock.
    func hold(until deadline: Int64)
    /// Releases the locks that were taken, and returns the objects that were retained for them. The last release of
    /// such an object may run the caller's code, so it happens after all locks are released.
    func release(inChild: Bool) -> [AnyObject]
}

/// All guarded state of the process.
package final class ForkGuards: @unchecked Sendable {
    // Sendable because everything is guarded by `lock`.

    package static let shared = ForkGuards()

    /// The reference is not counted: a weak one would make each retain and release of a session slow, and a strong one
    /// would keep it. It is valid while `lock` is held, because `remove` comes before the end of the object.
    private struct Member {
        unowned(unsafe) let guarded: any ForkGuarded
    }

    /// Held from before a fork until after it.
    private let lock = Lock()
    /// In the order in which they were added.
    private var members: [Member] = []

    /// Nanoseconds. A thread may fork while it holds one of the locks, or locks may be taken in another order: neither
    /// must deadlock.
    private static let lockTimeout: Int64 = 100_000_000

    private init() {}

    package func add(_ guarded: any ForkGuarded) {
        lock.withLock { members.append(Member(guarded: guarded)) }
    }

    package func remove(_ guarded: any ForkGuarded) {
        lock.withLock {
            // Most were added last.
            if let index = members.lastIndex(where: { $0.guarded === guarded }) { members.remove(at: index) }
        }
    }

    func hold() {
        lock.lock()
        Lock.isOrderChecked = false
        let deadline = cll_now() + Self.lockTimeout
        for member in members { member.guarded.hold(until: deadline) }
    }

    func release(inChild: Bool) {
        var leftovers: [AnyObject] = []
        for member in members.reversed() { leftovers += member.guarded.release(inChild: inChild) }
        Lock.isOrderChecked = true
        lock.unlock()
        withExtendedLifetime(leftovers) {}
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
