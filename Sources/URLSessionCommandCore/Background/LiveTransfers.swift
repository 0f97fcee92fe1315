import BackgroundTransfers
import Foundation

#if canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The output of `background watch`: a table that is drawn again on a terminal, or a line for each change elsewhere.
struct LiveTransfers {
    private let table: TransferTable
    private let isTerminal: Bool
    private let isUTF8: Bool
    private let start = Date()
    private var transfers = WatchedTransfers()
    private var drawnLines = 0

    /// When the table is to be drawn again. Lines need no such time.
    private(set) var nextDrawing: Date

    /// Seconds.
    private static let interval = 0.5

    init(_ table: TransferTable, terminal: Terminal) {
        self.table = table
        isTerminal = terminal.outputIsTerminal && terminal.movesCursor
        isUTF8 = terminal.isUTF8
        nextDrawing = isTerminal ? Date(timeIntervalSinceNow: 0.1) : .distantFuture
    }

    /// Returns what is to be printed now.
    mutating func handle(_ notice: ServiceNotice, now: Double) -> String {
        let changed = transfers.apply(notice, time: Date().timeIntervalSince(start))
        if isTerminal { return "" }
        return changed.map { Self.line($0, after: Date().timeIntervalSince(start), now: now, isUTF8: isUTF8) }.joined()
    }

    /// `    +1.2 s  running  urlsession/one/1  https://…`
    static func line(_ transfer: ListedTransfer, after seconds: Double, now: Double, isUTF8: Bool) -> String {
        let state = TransferStateText(transfer.status, now: now).short
        let name = TextSanitizer.clean(TransferSelection.name(transfer.reference), isUTF8: isUTF8)
        let url = TextSanitizer.clean(transfer.shownURL, isUTF8: isUTF8)
        return "+\(Quantity.fixed(seconds, 1)) s".rightAligned(11) + "  \(state)  \(name)  \(url)\n"
    }

    /// Returns the next picture, in the place of the last one.
    mutating func draw(now: Double) -> String {
        guard isTerminal else { return "" }
        transfers.tick(time: Date().timeIntervalSince(start))
        nextDrawing = Date(timeIntervalSinceNow: Self.interval)
        let lines = transfers.picture(table, rows: Self.rows - 1, now: now)
        defer { drawnLines = lines.count }
        return Self.replacing(drawnLines, by: lines)
    }

    /// Moves up over the last picture, and clears what the new one does not cover.
    static func replacing(_ count: Int, by lines: [String]) -> String {
        (count > 0 ? "\u{1B}[\(count)A\r" : "") + lines.map { $0 + "\u{1B}[K\n" }.joined() + "\u{1B}[J"
    }

    private static var rows: Int {
        var size = winsize()
        return ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_row > 3 ? Int(size.ws_row) : 24
    }
}
