internal import Dispatch

/// A store whose last changes may not be on disk yet.
protocol FlushedStore: AnyObject, Sendable {
    /// Calls when the disk has all changes so far, or cannot have them: at once, or on any thread.
    func flush(_ done: @escaping @Sendable () -> Void)
}

extension [any FlushedStore] {
    /// Flushes all of them at a time. The group is empty when that is done.
    func flush() -> DispatchGroup {
        let group = DispatchGroup()
        for store in self {
            group.enter()
            store.flush { group.leave() }
        }
        return group
    }
}
