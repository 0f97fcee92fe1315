/// The transfer rate, exponentially smoothed with a time constant of 1.5 s.
package struct RateMeter: Sendable {
    private var lastCount: Int64 = 0
    private var lastTime: Double = 0
    package private(set) var bytesPerSecond: Double = 0

    package init(count: Int64 = 0, time: Double = 0) {
        lastCount = count
        lastTime = time
    }

    /// `time` in seconds since the start; `count` is the number of bytes so far.
    package mutating func add(count: Int64, time: Double) {
        let interval = time - lastTime
        guard interval > 0 else { return }
        let current = Double(max(0, count - lastCount)) / interval
        // A rational approximation of 1 - e^(-x). The first sample has full weight.
        let weight = bytesPerSecond == 0 ? 1 : interval / (interval + 1.5)
        bytesPerSecond += (current - bytesPerSecond) * weight
        lastCount = count
        lastTime = time
    }
}
