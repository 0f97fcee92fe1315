internal import Dispatch
internal import Foundation
internal import LoadingEvents
internal import LoadingSemantics
internal import Synchronization

/// Flushes the stores when the process exits normally, so that a program that logs in and exits at once is still logged
/// in the next time.
final class ExitFlush: @unchecked Sendable {
    // Sendable: `lock` guards `stores`.

    static let shared = ExitFlush()

    private struct Entry {
        weak var store: (any FlushedStore)?
    }

    private let lock = Lock()
    private var stores: [ObjectIdentifier: Entry] = [:]
    /// The process that owns the stores. A forked process has copies of its parent's stores, but not their threads.
    private let owner = Atomic<pid_t>(0)

    private init() {
        atexit { ExitFlush.shared.flush() }
    }

    func add(_ store: any FlushedStore) {
        let process = getpid()
        lock.withLock {
            if owner.exchange(process, ordering: .relaxed) != process { stores = [:] }
            stores[ObjectIdentifier(store)] = Entry(store: store)
        }
    }

    func remove(_ store: any FlushedStore) {
        lock.withLock { _ = stores.removeValue(forKey: ObjectIdentifier(store)) }
    }

    private func flush() {
        // Checked without the lock, which may have been held by another thread when the process was forked.
        guard owner.load(ordering: .relaxed) == getpid() else { return }
        let timeout = DispatchTimeInterval.nanoseconds(Int(TimeLimits.standard.exitFlush))
        _ = lock.withLock { stores.values.compactMap(\.store) }.flush().wait(timeout: .now() + timeout)
    }
}

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
