internal import LoadingSemantics
internal import LoadingTransport

/// The waits of a pool for descriptors, first come, first served. A few of them end at a time, whether or not a
/// descriptor is free by then: each costs a lookup of a name and more, and thousands together would keep the loop from
/// the connections whose ends free descriptors. Confined to the pool's loop.
final class DescriptorQueue: LoopTimerTarget {
    private var waits: [DescriptorWait] = []
    private let timer = LoopTimer()

    /// The number of waits that end together.
    static let batchSize = 32

    func enter(_ wait: DescriptorWait) {
        waits.append(wait)
        if !timer.isArmed { arm(for: wait.pool) }
    }

    func leave(_ wait: DescriptorWait) {
        if let index = waits.firstIndex(where: { $0 === wait }) { waits.remove(at: index) }
        if waits.isEmpty { wait.pool.loop.disarm(timer) }
    }

    private func arm(for pool: ConnectionPool) {
        let delay = pool.closeOneIdle() ? 0 : pool.loop.limits.descriptorRetry
        pool.loop.arm(timer, at: pool.loop.now + delay, for: self)
    }

    func timerFired(_ timer: LoopTimer) {
        let batch = waits.prefix(Self.batchSize)
        waits.removeFirst(batch.count)
        // Those that begin to wait again meanwhile come after the others.
        for wait in batch { wait.take()?() }
        if let wait = waits.first, !timer.isArmed { arm(for: wait.pool) }
    }
}

/// Waits for a descriptor when the process has none left. That is not a failure of the server. A descriptor becomes
/// free when any connection of the process ends; an idle connection of the pool is closed at once. Confined to the
/// pool's loop.
final class DescriptorWait {
    let pool: ConnectionPool
    private var again: (() -> Void)?

    init(_ pool: ConnectionPool) { self.pool = pool }

    /// Calls `again` in a later turn, unless `end` is called before.
    func begin(_ again: @escaping () -> Void) {
        let isWaiting = self.again != nil
        self.again = again
        if !isWaiting { pool.descriptorQueue.enter(self) }
    }

    func end() {
        if take() != nil { pool.descriptorQueue.leave(self) }
    }

    /// Ends the wait. Returns what was to be called; nil if the wait has ended before.
    func take() -> (() -> Void)? {
        defer { again = nil }
        return again
    }
}
