internal import LoadingEvents
internal import Synchronization

/// The classes that every session of the process asks.
final class ProtocolRegistry: @unchecked Sendable {
    // Sendable because `registered` is guarded by `lock`.

    static let shared = ProtocolRegistry()

    private let lock = Lock()
    /// The one registered last comes first (MISC-18).
    private var registered: [URLProtocol.Type] = []
    /// How many there are: nearly always none, and nobody takes the lock to learn that.
    private let count = Atomic<Int>(0)

    var isEmpty: Bool { count.load(ordering: .relaxed) == 0 }

    var classes: [URLProtocol.Type] { lock.withLock { registered } }

    func register(_ protocolClass: URLProtocol.Type) {
        lock.withLock {
            registered.insert(protocolClass, at: 0)
            count.store(registered.count, ordering: .relaxed)
        }
    }

    /// Takes back one registration, the last one of that class.
    func unregister(_ protocolClass: URLProtocol.Type) {
        lock.withLock {
            if let index = registered.firstIndex(where: { $0 == protocolClass }) { registered.remove(at: index) }
            count.store(registered.count, ordering: .relaxed)
        }
    }
}
