import Dispatch
import Foundation

/// Holds a reader back so that it does not exceed a rate. The reader's back-pressure slows the transfer down.
///
/// Unchecked: `lock` guards the mutable state. Uploads and downloads are read on different threads.
final class RateLimiter: @unchecked Sendable {
    private let bytesPerSecond: Double
    private let lock = NSCondition()
    private var start: UInt64?
    private var total = 0.0
    private var isOver = false

    /// On the clock of `DispatchTime`, in nanoseconds.
    private let deadline: UInt64

    /// - Parameter timeout: Seconds from now after which nothing waits any more; nil for none.
    init(bytesPerSecond: Int, timeout: Double? = nil) {
        self.bytesPerSecond = Double(bytesPerSecond)
        let now = DispatchTime.now().uptimeNanoseconds
        deadline = timeout.map { now &+ UInt64(max(0, min($0, 1e9)) * 1e9) } ?? .max
    }

    /// The most bytes to read at once, so that waits are short.
    var pieceSize: Int { max(1, min(64 * 1024, Int(bytesPerSecond / 8))) }

    /// Returns when `count` further bytes may have been transferred. False if the time is over.
    @discardableResult func wait(for count: Int) -> Bool {
        lock.withLock {
            let now = DispatchTime.now().uptimeNanoseconds
            let start = start ?? now
            self.start = start
            total += Double(count)
            let end = total / bytesPerSecond
            while !isOver {
                let now = DispatchTime.now().uptimeNanoseconds
                guard now < deadline else { return false }
                let left = end - Double(now - start) / 1e9
                guard left > 0 else { return true }
                _ = lock.wait(until: Date(timeIntervalSinceNow: min(left, Double(deadline - now) / 1e9)))
            }
            return true
        }
    }

    /// The transfer has ended: nothing waits any more.
    func end() {
        lock.withLock {
            isOver = true
            lock.broadcast()
        }
    }
}
