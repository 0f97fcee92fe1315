package import BackgroundTransfers

/// Background transfers as a table.
package struct TransferTable {
    private let style: TextStyle
    private let isUTF8: Bool
    /// The width of the terminal; nil for a pipe or a file, whose lines are not cut.
    private let columns: Int?

    private struct Cell {
        var text: String
        var color: TextStyle.Color?
        var isNumber = false
    }

    private static let barWidth = 12
    /// Longer names are cut on a terminal.
    private static let longestName = 20

    package init(style: TextStyle, isUTF8: Bool, columns: Int?) {
        self.style = style
        self.isUTF8 = isUTF8
        self.columns = columns
    }

    /// The heads and a line for each transfer, without line feeds.
    ///
    /// - Parameters:
    ///   - rates: Bytes per second. Nil for a table without bars, with the rates that the service has reported.
    ///   - now: Seconds since 1970.
    package func lines(
        _ transfers: [ListedTransfer], rates: [TransferReference: Double]? = nil, now: Double
    ) -> [String] {
        let names = ["APPLICATION", "SESSION", "TASK", "STATE", "PROGRESS", "SIZE", "RATE"]
        let numbers: Set<String> = ["TASK", "SIZE", "RATE"]
        let head = (names + ["URL"]).map { Cell(text: $0, color: .bold, isNumber: numbers.contains($0)) }
        let rows = [head] + transfers.map { cells($0, rates, now) }
        let widths = head.indices.map { column in rows.map { $0[column].text.count }.max() ?? 0 }
        return rows.map { line($0, widths) }
    }

    private func cells(_ transfer: ListedTransfer, _ rates: [TransferReference: Double]?, _ now: Double) -> [Cell] {
        let state = TransferStateText(transfer.status, now: now)
        let (count, expected) = transfer.amount
        var cells = [
            Cell(text: name(transfer.reference.application)), Cell(text: name(transfer.reference.session)),
            Cell(text: "\(transfer.reference.task)", isNumber: true), Cell(text: state.short, color: state.color),
            Cell(text: progress(count, expected, drawsBar: rates != nil)),
            Cell(text: Quantity.bytes(expected > 0 ? expected : count), isNumber: true),
        ]
        let rate = (rates.map { $0[transfer.reference] } ?? transfer.bytesPerSecond) ?? 0
        cells.append(Cell(text: rate >= 1 ? Quantity.bytes(Int64(min(rate, 1e15))) + "/s" : "-", isNumber: true))
        cells.append(Cell(text: TextSanitizer.clean(transfer.shownURL, isUTF8: isUTF8)))
        return cells
    }

    private func name(_ text: String) -> String {
        let clean = TextSanitizer.clean(text, isUTF8: isUTF8)
        guard columns != nil, clean.count > Self.longestName else { return clean }
        return clean.prefix(Self.longestName - ellipsis.count) + ellipsis
    }

    private var ellipsis: String { isUTF8 ? "…" : "..." }

    private func progress(_ count: Int64, _ expected: Int64, drawsBar: Bool) -> String {
        guard expected > 0 else { return "-" }
        let fraction = min(1, max(0, Double(count) / Double(expected)))
        let percent = "\(Int(fraction * 100))%".rightAligned(4)
        return drawsBar ? ProgressText.bar(fraction, Self.barWidth, isUTF8) + percent : percent
    }

    private func line(_ cells: [Cell], _ widths: [Int]) -> String {
        var left = columns.map { max(0, $0 - 1) } ?? .max
        var line = ""
        for (index, cell) in cells.enumerated() {
            let isLast = index == cells.count - 1
            let padded =
                isLast
                ? cell.text
                : cell.isNumber ? cell.text.rightAligned(widths[index]) : cell.text.leftAligned(widths[index])
            var shown = padded + (isLast ? "" : "  ")
            if shown.count > left {
                shown =
                    left > ellipsis.count ? shown.prefix(left - ellipsis.count) + ellipsis : String(shown.prefix(left))
            }
            left -= shown.count
            guard let color = cell.color else {
                line += shown
                continue
            }
            // The blanks around the text have no colour.
            let start = shown.prefix { $0 == " " }
            let text = shown.dropFirst(start.count)
            let end = String(text.reversed().prefix { $0 == " " })
            line += start + style.apply(color, String(text.dropLast(end.count))) + end
        }
        while line.last == " " { line.removeLast() }
        return line
    }
}

extension ListedTransfer {
    var shownURL: String { SecretText.hiding(in: url, as: .address) }
}
