internal import Foundation
internal import LoadingEvents

/// A store whose last changes may not be on disk yet.
protocol ExitFlushed: AnyObject, Sendable {
    func flushAtExit(_ told: @escaping @Sendable () -> Void)
}

/// Has stores written to their end when the process ends of its own accord, so that a program that has logged in and
/// ends at once is still logged in the next time.
final class ExitFlush: @unchecked Sendable {
    // Sendable because `stores` is guarded by `lock`.

    static let shared = ExitFlush()

    /// A disk that hangs does not keep the process from its end.
    private static let patience = DispatchTimeInterval.seconds(2)

    private struct Entry {
        weak var store: (any ExitFlushed)?
    }

    private let lock = Lock()
    private var stores: [ObjectIdentifier: Entry] = [:]

    private init() {
        atexit { ExitFlush.shared.flush() }
    }

    func add(_ store: any ExitFlushed) {
        lock.withLock { stores[ObjectIdentifier(store)] = Entry(store: store) }
    }

    func remove(_ store: any ExitFlushed) {
        lock.withLock { _ = stores.removeValue(forKey: ObjectIdentifier(store)) }
    }

    private func flush() {
        let group = DispatchGroup()
        for store in lock.withLock({ stores.values.compactMap(\.store) }) {
            group.enter()
            store.flushAtExit { group.leave() }
        }
        _ = group.wait(timeout: .now() + Self.patience)
    }
}
