internal import Dispatch
internal import Foundation
internal import LoadingEvents
internal import LoadingSemantics
internal import Synchronization

/// Has stores written to their end when the process ends of its own accord, so that a program that has logged in and
/// ends at once is still logged in the next time.
final class ExitFlush: @unchecked Sendable {
    // Sendable because `stores` is guarded by `lock`.

    static let shared = ExitFlush()

    private struct Entry {
        weak var store: (any FlushedStore)?
    }

    private let lock = Lock()
    private var stores: [ObjectIdentifier: Entry] = [:]
    /// Whose stores they are. A process that was forked off has copies of its parent's, but not their threads.
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
        // Without the lock, which nobody gives back that had it when the process was forked off.
        guard owner.load(ordering: .relaxed) == getpid() else { return }
        let timeout = DispatchTimeInterval.nanoseconds(Int(TimeLimits.standard.exitFlush))
        _ = lock.withLock { stores.values.compactMap(\.store) }.flush().wait(timeout: .now() + timeout)
    }
}

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
