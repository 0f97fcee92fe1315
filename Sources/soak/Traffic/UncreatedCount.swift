import Foundation

/// The number of asynchronous calls that may not have created their tasks yet.
final class UncreatedCount: @unchecked Sendable {
    // Sendable because the mutable state is guarded by `lock`.
    private let lock = NSLock()
    private var requests: [Int: SoakRequest] = [:]

    func add(_ request: SoakRequest) { lock.withLock { requests[request.plan.index] = request } }
    func remove(_ request: SoakRequest) { lock.withLock { requests[request.plan.index] = nil } }

    /// Returns false if some are left after a timeout.
    func waitForNone() -> Bool {
        for _ in 0..<50 {
            if lock.withLock({ requests.values.allSatisfy(\.hasTask) }) { return true }
            usleep(200)
        }
        return false
    }
}
