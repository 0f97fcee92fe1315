/// Formats numbers for display, without loading a locale.
package enum Quantity {
    private static let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]

    /// `512 B`, `1.18 MiB`, `25.0 MiB`, `256 MiB`.
    package static func bytes(_ count: Int64) -> String {
        var value = Double(max(0, count))
        var unit = 0
        while value >= 999.5, unit < units.count - 1 {
            value /= 1024
            unit += 1
        }
        if unit == 0 { return "\(max(0, count)) B" }
        let digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0
        return "\(fixed(value, digits)) \(units[unit])"
    }

    /// `12.34 ms`, always with two digits after the point.
    package static func milliseconds(_ seconds: Double) -> String {
        fixed(seconds * 1000, 2) + " ms"
    }

    /// `1 redirect`, `2 redirects`.
    package static func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }

    /// `0:42`, `12:05`, `1:02:03`.
    package static func clock(_ seconds: Double) -> String {
        guard seconds.isFinite, seconds < 360_000 else { return "-:--" }
        let total = Int(max(0, seconds).rounded())
        let (hours, minutes, rest) = (total / 3600, total / 60 % 60, total % 60)
        return hours > 0 ? "\(hours):\(pad(minutes)):\(pad(rest))" : "\(minutes):\(pad(rest))"
    }

    /// A decimal number with `digits` digits after the point.
    package static func fixed(_ value: Double, _ digits: Int) -> String {
        guard value.isFinite, abs(value) < 1e12 else { return "?" }
        var scale = 1
        for _ in 0..<max(0, min(digits, 6)) { scale *= 10 }
        let scaled = Int((abs(value) * Double(scale)).rounded())
        let sign = value < 0 && scaled != 0 ? "-" : ""
        if digits <= 0 { return "\(sign)\(scaled)" }
        let fraction = String(scaled % scale)
        return "\(sign)\(scaled / scale)." + String(repeating: "0", count: digits - fraction.count) + fraction
    }

    private static func pad(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
}

extension String {
    func leftAligned(_ width: Int) -> String {
        count >= width ? self : self + String(repeating: " ", count: width - count)
    }

    func rightAligned(_ width: Int) -> String {
        count >= width ? self : String(repeating: " ", count: width - count) + self
    }
}
