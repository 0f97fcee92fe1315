internal import CLoadingLinux
internal import Glibc

/// Writes log lines. Thread-safe. Each line is one `write`, so lines of different threads do not mix.
///
/// A slow reader loses lines instead of delaying the program: a line waits up to 10 ms for space. After a timeout,
/// further lines are dropped without waiting until there is space; then the number of dropped lines is written. A
/// closed reader causes neither a signal nor an error.
package final class LineOutput: @unchecked Sendable {
    // Sendable because what is mutable is guarded by `lock`.

    private let descriptor: Int32
    /// Held while a line is written, unlike other locks. Otherwise another thread could use up the space that this
    /// thread has found.
    private let lock = Lock()
    private var dropped = 0

    /// In milliseconds.
    private static let timeout: Int32 = 10
    private static let prefix = "URLLoading: "

    package init(_ descriptor: Int32) { self.descriptor = descriptor }

    /// - Parameter line: Without a line feed. Should be shorter than 4,096 bytes (`PIPE_BUF`), the largest atomic write
    ///   to a pipe.
    package func write(_ line: String) {
        lock.withLock {
            if dropped > 0 {
                guard put("\(dropped) lines are missing here: they were not read in time", within: 0) else {
                    return dropped += 1
                }
                dropped = 0
            }
            if !put(line, within: Self.timeout) { dropped += 1 }
        }
    }

    /// Returns false if there was no space in time.
    private func put(_ line: String, within milliseconds: Int32) -> Bool {
        var text = Self.prefix + line + "\n"
        return text.withUTF8 { cll_write_line(descriptor, $0.baseAddress, $0.count, milliseconds) }
    }
}

/// Messages that have no other channel.
package enum StandardError {
    /// For log lines, which may be numerous.
    package static let log = LineOutput(STDERR_FILENO)

    private static let lock = Lock()
    /// Guarded by `lock`.
    nonisolated(unsafe) private static var observer: (@Sendable (String) -> Bool)?

    /// Messages of `report` go there first. To be called once.
    ///
    /// - Parameter observer: Returns whether it has taken the message.
    package static func observe(_ observer: @escaping @Sendable (String) -> Bool) {
        lock.withLock { self.observer = observer }
    }

    /// Tells the observer of messages, or writes one line if it does not take the message. `message` has no final full
    /// stop.
    package static func report(_ message: String) {
        let observer = lock.withLock { Self.observer }
        if observer?(message) != true { write(message) }
    }

    /// Writes one line. `message` has no final full stop.
    package static func write(_ message: String) {
        Array("URLLoading: \(message).\n".utf8).withUnsafeBytes {
            cll_write_message(STDERR_FILENO, $0.baseAddress, $0.count)
        }
    }
}
