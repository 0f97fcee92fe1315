import Foundation

/// Runs closures after a few milliseconds, on its own thread.
final class Ticker: @unchecked Sendable {
    // Sendable because the mutable state is guarded by `condition`.
    private let condition = NSCondition()
    /// Sorted by time, latest first.
    private var entries: [(time: UInt64, body: @Sendable () -> Void)] = []

    init() {
        Thread.detachNewThread { self.run() }
    }

    func after(_ milliseconds: Int, _ body: @escaping @Sendable () -> Void) {
        let time = DispatchTime.now().uptimeNanoseconds + UInt64(milliseconds) * 1_000_000
        condition.lock()
        let index = entries.lastIndex { $0.time >= time }.map { $0 + 1 } ?? 0
        entries.insert((time, body), at: index)
        condition.signal()
        condition.unlock()
    }

    private func run() {
        while true {
            condition.lock()
            while true {
                let now = DispatchTime.now().uptimeNanoseconds
                guard let next = entries.last else {
                    condition.wait()
                    continue
                }
                if next.time <= now { break }
                _ = condition.wait(until: Date(timeIntervalSinceNow: Double(next.time - now) / 1e9))
            }
            let body = entries.popLast()?.body
            condition.unlock()
            body?()
        }
    }
}
