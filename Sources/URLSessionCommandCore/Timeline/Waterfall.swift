/// Draws the phases of transactions as bars on a common time axis.
package struct Waterfall: Sendable {
    private let style: TextStyle
    private let isUTF8: Bool
    private let columns: Int

    package init(style: TextStyle, isUTF8: Bool, columns: Int) {
        self.style = style
        self.isUTF8 = isUTF8
        self.columns = min(max(columns, 50), 110)
    }

    /// - Parameter duration: Of the whole task, in seconds. Phases without an end are drawn up to it.
    package func lines(_ timelines: [TransactionTimeline], duration: Double) -> [String] {
        let last = timelines.flatMap(\.phases).map { $0.end ?? $0.start }.max() ?? 0
        let axis = max(duration, last)
        return timelines.flatMap { transaction($0, axis) }
    }

    private func transaction(_ timeline: TransactionTimeline, _ axis: Double) -> [String] {
        let status = timeline.status.map { " \($0)" } ?? ""
        var lines = [
            style.apply(.bold, "\(timeline.method) \(clean(timeline.url))\(status)"),
            style.apply(.dim, "  " + connection(timeline)),
        ]
        lines += timeline.phases.compactMap { phase in
            // A short queue phase is not shown.
            if phase.kind == .queued, let duration = phase.duration, duration < axis * 0.02 { return nil }
            return row(phase, axis)
        }
        if !timeline.isFromCache { lines.append(style.apply(.dim, "  " + traffic(timeline))) }
        return lines
    }

    private func row(_ phase: TransactionTimeline.Phase, _ axis: Double) -> String {
        // Indentation and name before the bar: 11 columns. Time after it: 13 columns.
        let width = columns - 11 - 13
        let time = phase.duration.map(Quantity.milliseconds) ?? "not finished"
        let bar = bar(phase.start, phase.end ?? axis, axis, width)
        return "  " + phase.kind.rawValue.leftAligned(9) + style.apply(color(phase.kind), bar.leftAligned(width))
            + time.rightAligned(13)
    }

    /// Fills all cells that the span touches, with half cells at both ends in UTF-8.
    private func bar(_ start: Double, _ end: Double, _ axis: Double, _ width: Int) -> String {
        guard axis > 0, axis.isFinite, start.isFinite, end.isFinite, width > 0 else { return "" }
        // Rounded to 1/1000 of a half cell, because 0.04 / 0.08 may not be exactly 0.5.
        func halves(_ time: Double) -> Double {
            (min(max(time / axis, 0), 1) * Double(width * 2) * 1000).rounded() / 1000
        }
        let first = min(width * 2 - 1, Int(halves(start)))
        let last = max(first + 1, Int(halves(end).rounded()))
        let empty = String(repeating: " ", count: first / 2)
        if last - first == 1 {
            return empty + (isUTF8 ? (first % 2 == 0 ? "▌" : "▐") : "|")
        }
        if !isUTF8 {
            return empty + String(repeating: "=", count: (last + 1) / 2 - first / 2)
        }
        let left = first % 2 == 1 ? "▐" : ""
        let right = last % 2 == 1 ? "▌" : ""
        return empty + left + String(repeating: "█", count: last / 2 - (first + 1) / 2) + right
    }

    private func color(_ kind: TransactionTimeline.PhaseKind) -> TextStyle.Color {
        switch kind {
        case .queued: .dim
        case .dns: .cyan
        case .connect: .blue
        case .tls: .magenta
        case .request: .green
        case .wait: .yellow
        case .response: .boldGreen
        }
    }

    private func connection(_ timeline: TransactionTimeline) -> String {
        if timeline.isFromCache { return "from the cache" }
        let address = timeline.remoteAddress.map { (timeline.isProxyConnection ? "through proxy " : "") + $0 }
        let age =
            timeline.remoteAddress == nil ? "no connection" : timeline.isReusedConnection ? "reused" : "new connection"
        return [timeline.protocolName, address, timeline.tls, age].compactMap { $0 }.joined(separator: ", ")
    }

    private func traffic(_ timeline: TransactionTimeline) -> String {
        let sent = "sent \(Quantity.bytes(timeline.requestHeaderBytes)) + \(Quantity.bytes(timeline.requestBodyBytes))"
        let received =
            "received \(Quantity.bytes(timeline.responseHeaderBytes)) + \(Quantity.bytes(timeline.responseBodyBytes))"
        let decoded =
            timeline.decodedBodyBytes == timeline.responseBodyBytes
            ? "" : " (\(Quantity.bytes(timeline.decodedBodyBytes)) decoded)"
        return "\(sent), \(received)\(decoded)"
    }

    private func clean(_ text: String) -> String { TextSanitizer.clean(text, isUTF8: isUTF8) }
}
