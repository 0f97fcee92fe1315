import Foundation

/// How far a campaign is. It is shown on standard error: on a terminal in one line that is rewritten, else in a line
/// each minute.
struct Tally {
    /// How many there are, and how long it may take, if that is known.
    let worlds: UInt64?
    let seconds: Double?
    var failures = 0
    private var count: UInt64 = 0
    private var simulated = 0.0
    private let start = Date()

    private static let isTerminal = isatty(STDERR_FILENO) == 1
    static let interval = isTerminal ? 0.25 : 60

    init(worlds: UInt64?, seconds: Double?) { (self.worlds, self.seconds) = (worlds, seconds) }

    mutating func add(simulated seconds: Double) {
        count += 1
        simulated += seconds
    }

    private var time: Double { Date().timeIntervalSince(start) }
    private var rate: Double { Double(count) / max(time, 0.001) }
    var isOver: Bool { time >= seconds ?? .infinity }

    var summary: String {
        "\(count) worlds, \(failures) failed, \(Int(simulated)) simulated seconds in \(Int(time)) s, "
            + String(format: "%.1f worlds/s", rate)
    }

    private var line: String {
        var rest = (seconds ?? 0) - time
        if let worlds { rest = Double(worlds - count) / max(rate, 0.001) }
        return "\(count)\(worlds.map { " of \($0)" } ?? "") worlds, \(failures) failed · "
            + String(format: "%.1f", rate)
            + "/s · \(Self.duration(simulated)) simulated · \(Self.duration(rest)) left"
    }

    func show() {
        FileHandle.standardError.write(Data((Self.isTerminal ? "\r\u{1B}[K" + line : line + "\n").utf8))
    }

    /// Before anything else is printed.
    static func clear() {
        if isTerminal { FileHandle.standardError.write(Data("\r\u{1B}[K".utf8)) }
    }

    private static func duration(_ seconds: Double) -> String {
        let seconds = Int(max(0, min(seconds, 1e12)))
        switch seconds {
        case ..<60: return "\(seconds) s"
        case ..<3600: return "\(seconds / 60) min \(seconds % 60) s"
        case ..<86400: return "\(seconds / 3600) h \(seconds / 60 % 60) min"
        default: return "\(seconds / 86400) d \(seconds / 3600 % 24) h"
        }
    }
}
