internal import Foundation
internal import LoadingEvents

/// Has stores written to their end when the process ends of its own accord, so that a program that has logged in and
/// ends at once is still logged in the next time.
final class ExitFlush: @unchecked Sendable {
    // Sendable because `stores` is guarded by `lock`.

    static let shared = ExitFlush()

    /// A disk that hangs does not keep the process from its end.
    private static let patience = DispatchTimeInterval.seconds(2)

    private struct Entry {
        weak var store: (any FlushedStore)?
    }

    private let lock = Lock()
    private var stores: [ObjectIdentifier: Entry] = [:]

    private init() {
        atexit { ExitFlush.shared.flush() }
    }

    func add(_ store: any FlushedStore) {
        lock.withLock { stores[ObjectIdentifier(store)] = Entry(store: store) }
    }

    func remove(_ store: any FlushedStore) {
        lock.withLock { _ = stores.removeValue(forKey: ObjectIdentifier(store)) }
    }

    private func flush() {
        _ = lock.withLock { stores.values.compactMap(\.store) }.flush().wait(timeout: .now() + Self.patience)
    }
}
