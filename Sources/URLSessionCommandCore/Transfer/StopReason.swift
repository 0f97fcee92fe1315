import Foundation

/// Why this side ended a load; stronger than the error that the cancellation brings. The first reason wins.
///
/// Unchecked: set from the delegate queue and from the signal handler's queue, hence the lock.
final class StopReason: @unchecked Sendable {
    private let lock = NSLock()
    private var reason: TransferFailure?

    var value: TransferFailure? { lock.withLock { reason } }

    func set(_ new: TransferFailure) {
        lock.withLock { if reason == nil { reason = new } }
    }
}
