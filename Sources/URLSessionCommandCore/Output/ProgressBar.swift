import Dispatch
import Foundation

/// Where the progress of one transfer is shown.
protocol ProgressDisplay: AnyObject, Sendable {
    /// Starts drawing.
    func begin()
    /// Begins with `count` bytes that do not count towards the rate.
    func begin(at count: Int64)
    /// - Parameter expected: Negative when unknown.
    func update(received: Int64, expected: Int64)
    /// Clears what is drawn while `printMessage` runs, which prints a message.
    func interrupt(_ printMessage: () -> Void)
    /// Stops drawing and clears what is drawn. May be called repeatedly.
    func end()
}

/// Draws the progress of a transfer on standard error ten times per second, and clears it at the end.
///
/// Unchecked: `lock` guards the mutable state. The timer runs on its own queue.
final class ProgressBar: ProgressDisplay, @unchecked Sendable {
    private let lock = NSLock()
    private let terminal: Terminal
    private let start = DispatchTime.now().uptimeNanoseconds
    private var timer: (any DispatchSourceTimer)?
    private var received: Int64 = 0
    private var expected: Int64 = -1
    private var meter = RateMeter()
    private var isDrawn = false

    init(terminal: Terminal) {
        self.terminal = terminal
    }

    func begin() {
        let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "urlsession.progress"))
        timer.schedule(deadline: .now() + .milliseconds(100), repeating: .milliseconds(100), leeway: .milliseconds(10))
        timer.setEventHandler { [weak self] in self?.draw() }
        lock.withLock { self.timer = timer }
        timer.activate()
    }

    /// Begins with `count` bytes that do not count towards the rate.
    func begin(at count: Int64) {
        lock.withLock {
            received = count
            meter = RateMeter(count: count, time: Double(DispatchTime.now().uptimeNanoseconds - start) / 1e9)
        }
    }

    /// Clears the line while `printMessage` runs, which prints a message.
    func interrupt(_ printMessage: () -> Void) {
        lock.withLock {
            if isDrawn { StandardError.write("\r\u{1B}[K") }
            printMessage()
        }
    }

    func update(received: Int64, expected: Int64) {
        lock.withLock {
            self.received = received
            self.expected = expected
        }
    }

    /// Stops drawing and clears the line. May be called repeatedly.
    func end() {
        lock.withLock {
            timer?.cancel()
            timer = nil
            if isDrawn { StandardError.write("\r\u{1B}[K") }
            isDrawn = false
        }
    }

    private func draw() {
        lock.withLock {
            guard timer != nil else { return }
            let elapsed = Double(DispatchTime.now().uptimeNanoseconds - start) / 1e9
            meter.add(count: received, time: elapsed)
            guard received > 0 else { return }
            let text = ProgressText(
                received: received, expected: expected, bytesPerSecond: meter.bytesPerSecond, elapsed: elapsed)
            StandardError.write("\r" + text.line(columns: terminal.columns, isUTF8: terminal.isUTF8) + "\u{1B}[K")
            isDrawn = true
        }
    }
}
