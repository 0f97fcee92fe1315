/// The rate of a running transfer over the last second, or the last two. Times are those of the loop, in nanoseconds.
struct TransferRate {
    private struct Sample {
        let time: Int64
        let bytes: Int64
    }

    private var start: Sample
    private var middle: Sample
    private var bytes: Int64

    private static let window: Int64 = 1_000_000_000

    init(_ bytes: Int64, at time: Int64) {
        start = Sample(time: time, bytes: bytes)
        middle = start
        self.bytes = bytes
    }

    /// - Parameter total: The bytes that were transferred so far.
    mutating func note(_ total: Int64, at time: Int64) {
        if time &- middle.time >= Self.window {
            start = middle
            middle = Sample(time: time, bytes: bytes)
        }
        bytes = total
    }

    /// Falls while nothing is transferred.
    func bytesPerSecond(at time: Int64) -> Double {
        let elapsed = Double(time &- start.time) / 1e9
        return elapsed > 0 ? max(0, Double(bytes &- start.bytes) / elapsed) : 0
    }
}
