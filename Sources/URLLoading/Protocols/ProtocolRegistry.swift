internal import LoadingEvents
internal import Synchronization

/// The `URLProtocol` classes that are registered for all sessions of the process.
final class ProtocolRegistry: @unchecked Sendable {
    // Sendable because `registered` is guarded by `lock`.

    static let shared = ProtocolRegistry()

    private let lock = Lock()
    /// The last registered class comes first (MISC-18). Each is there once.
    private var registered: [URLProtocol.Type] = []
    /// The number of classes, to avoid the lock in the usual case of 0.
    private let count = Atomic<Int>(0)

    var isEmpty: Bool { count.load(ordering: .relaxed) == 0 }

    var classes: [URLProtocol.Type] { lock.withLock { registered } }

    func register(_ protocolClass: URLProtocol.Type) {
        lock.withLock {
            registered.removeAll { $0 == protocolClass }
            registered.insert(protocolClass, at: 0)
            count.store(registered.count, ordering: .relaxed)
        }
    }

    func unregister(_ protocolClass: URLProtocol.Type) {
        lock.withLock {
            registered.removeAll { $0 == protocolClass }
            count.store(registered.count, ordering: .relaxed)
        }
    }
}
