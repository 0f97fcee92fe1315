internal import LoadingEvents
internal import Synchronization

/// Who waits for what is read once, and is told of it in the order of asking.
final class FirstReading: @unchecked Sendable {
    // Sendable because `awaiting` is guarded by `lock`.
    private let lock = Lock()
    private var awaiting: [@Sendable () -> Void] = []
    private let isOver = Atomic(false)

    /// Whether it is over, and all who waited have been told.
    var isDone: Bool { isOver.load(ordering: .acquiring) }

    /// Has it called once it is over. False if it is over already: then nobody calls it.
    func add(_ body: @escaping @Sendable () -> Void) -> Bool {
        lock.withLock {
            if isOver.load(ordering: .relaxed) { return false }
            awaiting.append(body)
            return true
        }
    }

    /// It has been read. Those who wait come first, and in their order.
    func end() {
        while true {
            let told = lock.withLock {
                if awaiting.isEmpty { isOver.store(true, ordering: .releasing) }
                defer { awaiting = [] }
                return awaiting
            }
            if told.isEmpty { return }
            for body in told { body() }
        }
    }
}
