internal import LoadingEvents
internal import Synchronization

/// The `URLProtocol` classes that are registered for all sessions of the process.
final class ProtocolRegistry: @unchecked Sendable {
    // Sendable because `registered` is guarded by `lock`.

    static let shared = ProtocolRegistry()

    private let lock = Lock()
    /// The last registered class comes first (MISC-18).
    private var registered: [URLProtocol.Type] = []
    /// The number of classes, to avoid the lock in the usual case of 0.
    private let count = Atomic<Int>(0)

    var isEmpty: Bool { count.load(ordering: .relaxed) == 0 }

    var classes: [URLProtocol.Type] { lock.withLock { registered } }

    func register(_ protocolClass: URLProtocol.Type) {
        lock.withLock {
            registered.insert(protocolClass, at: 0)
            count.store(registered.count, ordering: .relaxed)
        }
    }

    /// Removes the last registration of a class.
    func unregister(_ protocolClass: URLProtocol.Type) {
        lock.withLock {
            if let index = registered.firstIndex(where: { $0 == protocolClass }) { registered.remove(at: index) }
            count.store(registered.count, ordering: .relaxed)
        }
    }
}
