internal import LoadingEvents
internal import LoadingSemantics
internal import LoadingTransport

/// The waits of a pool for descriptors, first come, first served. A few of them end at a time, whether or not a
/// descriptor is free by then: each costs a lookup of a name and more, and thousands together would keep the loop from
/// the connections whose ends free descriptors. Confined to the pool's loop.
final class DescriptorQueue: LoopTimerTarget {
    private weak var pool: ConnectionPool?
    /// Some may have ended.
    private var waits = FIFOQueue<DescriptorWait>()
    /// The number of waits that have not ended.
    private var count = 0
    private let timer = LoopTimer()

    /// The number of waits that end together.
    static let batchSize = 32

    init(of pool: ConnectionPool) { self.pool = pool }

    func enter(_ wait: DescriptorWait) {
        waits.append(wait)
        count += 1
        if !timer.isArmed { arm() }
    }

    func waitEnded() {
        count -= 1
        if count > 0 { return }
        waits = FIFOQueue()
        pool?.loop.disarm(timer)
    }

    private func arm() {
        guard let pool else { return }
        let delay = pool.closeOneIdle() ? 0 : pool.loop.limits.descriptorRetry
        pool.loop.arm(timer, at: pool.loop.now + delay, for: self)
    }

    func timerFired(_ timer: LoopTimer) {
        // Those that begin to wait again meanwhile come after the others.
        var unseen = waits.count
        var left = Self.batchSize
        while left > 0, unseen > 0, let wait = waits.popFirst() {
            unseen -= 1
            guard let again = wait.take() else { continue }
            left -= 1
            count -= 1
            again()
        }
        // Behind the last may be some that have ended, which would keep the pool.
        if count == 0 { waits = FIFOQueue() } else if !timer.isArmed { arm() }
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
        if take() != nil { pool.descriptorQueue.waitEnded() }
    }

    /// Ends the wait. Returns what was to be called; nil if the wait has ended before.
    func take() -> (() -> Void)? {
        defer { again = nil }
        return again
    }
}
