/// The progress line of a transfer, as text.
package struct ProgressText: Equatable, Sendable {
    package var received: Int64
    /// Negative when unknown.
    package var expected: Int64
    package var bytesPerSecond: Double
    package var elapsed: Double

    package init(received: Int64, expected: Int64, bytesPerSecond: Double, elapsed: Double) {
        self.received = received
        self.expected = expected
        self.bytesPerSecond = bytesPerSecond
        self.elapsed = elapsed
    }

    /// One line that is shorter than `columns`, so that terminals do not wrap it.
    package func line(columns: Int, isUTF8: Bool) -> String {
        let rate = bytesPerSecond > 0 ? Quantity.bytes(Int64(min(bytesPerSecond, 1e15))) + "/s" : "-"
        guard expected > 0 else {
            let text = "\(Quantity.bytes(received))  \(rate)  \(Quantity.clock(elapsed))"
            return String(text.prefix(max(0, columns - 1)))
        }
        let fraction = min(1, max(0, Double(received) / Double(expected)))
        let percent = "\(Int(fraction * 100))%".rightAligned(4)
        let left = bytesPerSecond > 0 ? Quantity.clock(Double(max(0, expected - received)) / bytesPerSecond) : "-:--"
        let figures = "\(Quantity.bytes(received)) of \(Quantity.bytes(expected))  \(rate)  \(left) left"
        let room = min(40, columns - 1 - percent.count - figures.count - 4)
        guard room >= 5 else { return String("\(percent)  \(figures)".prefix(max(0, columns - 1))) }
        return "\(percent) \(Self.bar(fraction, room, isUTF8))  \(figures)"
    }

    static func bar(_ fraction: Double, _ width: Int, _ isUTF8: Bool) -> String {
        let inside = width - 2
        guard isUTF8 else {
            let full = Int(fraction * Double(inside))
            return "[" + String(repeating: "#", count: full) + String(repeating: ".", count: inside - full) + "]"
        }
        let eighths = Int(fraction * Double(inside * 8))
        let partial = eighths % 8 == 0 ? "" : ["▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8 - 1]
        let full = String(repeating: "█", count: eighths / 8) + partial
        return "▕" + full.leftAligned(inside) + "▏"
    }
}
