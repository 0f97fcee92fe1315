internal import LoadingSemantics
internal import LoadingTransport

/// Waits for a descriptor when the process has none left. That is not a failure of the server. A descriptor becomes
/// free when any connection of the process ends; an idle connection of the pool is closed at once. Confined to the
/// pool's loop.
final class DescriptorWait: LoopTimerTarget {
    private let pool: ConnectionPool
    private let timer = LoopTimer()
    private var again: (() -> Void)?

    init(_ pool: ConnectionPool) { self.pool = pool }

    /// Calls `again` in a later turn, unless `end` is called before.
    func begin(_ again: @escaping () -> Void) {
        self.again = again
        let delay = pool.closeOneIdle() ? 0 : pool.loop.limits.descriptorRetry
        pool.loop.arm(timer, at: pool.loop.now + delay, for: self)
    }

    func end() {
        again = nil
        pool.loop.disarm(timer)
    }

    func timerFired(_ timer: LoopTimer) {
        let again = again
        self.again = nil
        again?()
    }
}
