internal import LoadingSemantics
internal import LoadingTransport

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
        if !isWaiting { pool.descriptorLine.enter(self) }
    }

    func end() {
        if take() != nil { pool.descriptorLine.oneEnded() }
    }

    /// Ends the wait. Returns what was to be called; nil if the wait has ended before.
    func take() -> (() -> Void)? {
        defer { again = nil }
        return again
    }
}
