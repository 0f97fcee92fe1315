internal import Foundation
internal import LoadingEvents
internal import Synchronization

/// Which optional methods a delegate class is known to lack.
///
/// Swift has no way to ask whether a class implements a method of a protocol that has a default. So the default itself
/// tells: when it runs, the class lacks the method. That holds for all instances of the class, since they share the
/// conformance, and it can be learnt at any moment by any thread without being wrong.
final class DelegateCapabilities: Sendable {
    private let bits = Atomic<UInt64>(0)

    /// The methods known to be missing.
    @inline(__always)
    var missing: DelegateMethod { DelegateMethod(rawValue: bits.load(ordering: .relaxed)) }

    func mark(_ method: DelegateMethod) {
        bits.bitwiseOr(method.rawValue, ordering: .relaxed)
    }

    /// The record of a class: one for the life of the process.
    static func of(_ delegate: any URLSessionDelegate) -> DelegateCapabilities {
        registry.record(of: ObjectIdentifier(type(of: delegate)))
    }

    private static let registry = Registry()

    private final class Registry: ForkGuarded, @unchecked Sendable {
        // Sendable because everything is guarded by `lock`.
        private let lock = ForkGuardedLock()
        /// As many entries as the program has delegate classes.
        private var records: [ObjectIdentifier: DelegateCapabilities] = [:]

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

/// Called by the default of a delegate method: the class of `delegate` has none of its own.
func markMissing(_ method: DelegateMethod, in delegate: any URLSessionDelegate) {
    DelegateCapabilities.of(delegate).mark(method)
}
