import Dispatch
import Foundation

/// Draws the progress of several transfers on standard error, one line for each, ten times per second.
///
/// Unchecked: `lock` guards the mutable state. The timer runs on its own queue.
final class ProgressBoard: @unchecked Sendable {
    /// The line of one transfer.
    final class Row: ProgressDisplay, @unchecked Sendable {
        // Sendable: the board's lock guards the mutable state.
        private unowned let board: ProgressBoard
        fileprivate let name: String
        fileprivate var received: Int64 = 0
        fileprivate var expected: Int64 = -1
        fileprivate var meter = RateMeter()
        fileprivate var isShown = false
        fileprivate var start: Double = 0

        fileprivate init(_ board: ProgressBoard, name: String) {
            self.board = board
            self.name = name
        }

        func begin() {
            board.change { now in
                isShown = true
                start = now
                meter = RateMeter(count: 0, time: now)
            }
        }

        func begin(at count: Int64) {
            board.change { now in
                received = count
                meter = RateMeter(count: count, time: now)
            }
        }

        func update(received: Int64, expected: Int64) {
            board.change { _ in
                self.received = received
                self.expected = expected
            }
        }

        func interrupt(_ printMessage: () -> Void) { board.interrupt(printMessage) }

        func end() { board.change { _ in isShown = false } }
    }

    /// How many transfers are shown. With the line for the others, and that of the cursor, they must not be more than
    /// the terminal has: lines that have left it at the top cannot be drawn again.
    static func mostTransfers(inRows rows: Int?) -> Int { max(1, min(20, (rows ?? 24) - 2)) }

    private let terminal: Terminal
    private let beginning = DispatchTime.now().uptimeNanoseconds
    private let lock = NSLock()
    private var rows: [Row] = []
    private var timer: (any DispatchSourceTimer)?
    private var drawnLines = 0

    init(terminal: Terminal) {
        self.terminal = terminal
        let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "urlsession.progress"))
        timer.schedule(deadline: .now() + .milliseconds(100), repeating: .milliseconds(100), leeway: .milliseconds(10))
        timer.setEventHandler { [weak self] in self?.draw() }
        self.timer = timer
        timer.activate()
    }

    func row(name: String) -> Row {
        let row = Row(self, name: name)
        lock.withLock { rows.append(row) }
        return row
    }

    func interrupt(_ printMessage: () -> Void) {
        lock.withLock {
            clear()
            printMessage()
        }
    }

    /// Stops drawing and clears the lines.
    func end() {
        lock.withLock {
            timer?.cancel()
            timer = nil
            clear()
        }
    }

    private var now: Double { Double(DispatchTime.now().uptimeNanoseconds - beginning) / 1e9 }

    fileprivate func change(_ body: (Double) -> Void) { lock.withLock { body(now) } }

    private func clear() {
        guard drawnLines > 0 else { return }
        StandardError.write("\u{1B}[\(drawnLines)A\r\u{1B}[J")
        drawnLines = 0
    }

    private func draw() {
        lock.withLock {
            guard timer != nil else { return }
            let now = now
            let shown = rows.filter { $0.isShown && $0.received > 0 }
            for row in shown { row.meter.add(count: row.received, time: now) }
            // The user may have changed it since the last time.
            let size = Terminal.sizeOfErrorTerminal()
            let columns = size?.columns ?? terminal.columns
            var lines = shown.prefix(Self.mostTransfers(inRows: size?.rows)).map { line(of: $0, now, columns) }
            if shown.count > lines.count { lines.append("\(ellipsis) and \(shown.count - lines.count) more") }
            guard !lines.isEmpty || drawnLines > 0 else { return }
            clear()
            StandardError.write(lines.map { $0 + "\n" }.joined())
            drawnLines = lines.count
        }
    }

    private var ellipsis: String { terminal.isUTF8 ? "…" : "..." }

    /// The name takes at most a third of the line.
    private func line(of row: Row, _ now: Double, _ columns: Int) -> String {
        let width = max(4, min(24, columns / 3))
        let name = row.name.count <= width ? row.name : ellipsis + row.name.suffix(width - ellipsis.count)
        let text = ProgressText(
            received: row.received, expected: row.expected, bytesPerSecond: row.meter.bytesPerSecond,
            elapsed: now - row.start)
        return name.leftAligned(width) + " "
            + text.line(columns: max(1, columns - width - 1), isUTF8: terminal.isUTF8)
    }
}
