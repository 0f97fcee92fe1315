internal import Foundation
internal import LoadingEvents
internal import LoadingSemantics
internal import Synchronization

/// The optional methods that a delegate class is known not to implement.
///
/// Swift cannot query whether a class implements a protocol method that has a default implementation. So the default
/// implementation records that it was called. This is true for all instances of the class, because they share the
/// conformance, and any thread may record it at any time.
final class DelegateCapabilities: Sendable {
    private let bits = Atomic<UInt64>(0)

    /// The methods that are known not to be implemented.
    @inline(__always)
    var missing: DelegateMethod { DelegateMethod(rawValue: bits.load(ordering: .relaxed)) }

    func mark(_ method: DelegateMethod) {
        bits.bitwiseOr(method.rawValue, ordering: .relaxed)
    }

    /// The record of a delegate class. There is one per class for the lifetime of the process.
    static func of(_ delegate: any URLSessionDelegate) -> DelegateCapabilities {
        registry.record(of: ObjectIdentifier(type(of: delegate)))
    }

    private static let registry = Registry()

    private final class Registry: ForkGuarded, @unchecked Sendable {
        // Sendable because everything is guarded by `lock`.
        private let lock = ForkGuardedLock()
        /// One entry for each delegate class, so it is bounded.
        private var records: [ObjectIdentifier: DelegateCapabilities] = .withRoom()

        init() { ForkGuards.shared.add(self) }

        func hold(until deadline: Int64) { lock.hold(until: deadline) }

        func release(inChild: Bool) -> [AnyObject] {
            lock.release()
            return []
        }

        func record(of type: ObjectIdentifier) -> DelegateCapabilities {
            lock.withLock {
                if let record = records[type] { return record }
                let record = DelegateCapabilities()
                records[type] = record
                return record
            }
        }
    }
}

/// Called by the default implementation of a delegate method: the class of `delegate` does not implement it.
func markMissing(_ method: DelegateMethod, in delegate: any URLSessionDelegate) {
    DelegateCapabilities.of(delegate).mark(method)
}
