import Foundation

/// Asynchronous calls that may not have made their tasks yet.
final class UncreatedCount: @unchecked Sendable {
    // Sendable because everything mutable is guarded by `lock`.
    private let lock = NSLock()
    private var requests: [Int: SoakRequest] = [:]

    func add(_ request: SoakRequest) { lock.withLock { requests[request.plan.index] = request } }
    func remove(_ request: SoakRequest) { lock.withLock { requests[request.plan.index] = nil } }

    /// False when some are left after a while.
    func waitForNone() -> Bool {
        for _ in 0..<50 {
            if lock.withLock({ requests.values.allSatisfy(\.hasTask) }) { return true }
            usleep(200)
        }
        return false
    }
}
