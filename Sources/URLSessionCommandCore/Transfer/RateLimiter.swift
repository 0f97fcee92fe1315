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

    init(bytesPerSecond: Int) { self.bytesPerSecond = Double(bytesPerSecond) }

    /// The most bytes to read at once, so that waits are short.
    var pieceSize: Int { max(1, min(64 * 1024, Int(bytesPerSecond / 8))) }

    /// Returns when `count` further bytes may have been transferred.
    func wait(for count: Int) {
        lock.withLock {
            let now = DispatchTime.now().uptimeNanoseconds
            let start = start ?? now
            self.start = start
            total += Double(count)
            let end = total / bytesPerSecond
            while !isOver {
                let left = end - Double(DispatchTime.now().uptimeNanoseconds - start) / 1e9
                guard left > 0 else { return }
                _ = lock.wait(until: Date(timeIntervalSinceNow: left))
            }
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
