internal import Dispatch

/// A store whose latest changes may not be on disk yet.
protocol FlushedStore: AnyObject, Sendable {
    /// Calls `done` when all changes so far have been written, or writing them has failed: at once, or on any thread.
    func flush(_ done: @escaping @Sendable () -> Void)
}

extension [any FlushedStore] {
    /// Flushes all stores in parallel. The group is empty when that is done.
    func flush() -> DispatchGroup {
        let group = DispatchGroup()
        for store in self {
            group.enter()
            store.flush { group.leave() }
        }
        return group
    }
}
