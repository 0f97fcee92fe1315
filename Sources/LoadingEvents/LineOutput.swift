internal import CLoadingLinux

/// Where lines of a log go. Any thread may write; each line is one `write`, so that lines of several threads do not mix.
///
/// A reader that does not keep up costs lines, not time: a line waits up to 10 ms for room, and once one has waited in vain
/// none waits until there is room again. How many are missing is said then. A reader that is gone is no signal and no error.
package final class LineOutput: @unchecked Sendable {
    // Sendable because what is mutable is guarded by `lock`.

    private let descriptor: Int32
    /// Also held while a line is written, unlike other locks: room that one thread has found must not go to another's line,
    /// for which the thread would have to wait.
    private let lock = Lock()
    private var missing = 0

    /// Milliseconds.
    private static let patience: Int32 = 10
    private static let prefix = "URLLoading: "

    package init(_ descriptor: Int32) { self.descriptor = descriptor }

    /// - Parameter line: Without a line feed. A pipe takes up to 4,096 bytes at once (`PIPE_BUF`), so it should be shorter.
    package func write(_ line: String) {
        lock.withLock {
            if missing > 0 {
                guard put("\(missing) lines are missing here: they were not read in time", within: 0) else {
                    return missing += 1
                }
                missing = 0
            }
            if !put(line, within: Self.patience) { missing += 1 }
        }
    }

    /// False if there was no room in time.
    private func put(_ line: String, within milliseconds: Int32) -> Bool {
        var text = Self.prefix + line + "\n"
        return text.withUTF8 { cll_write_line(descriptor, $0.baseAddress, $0.count, milliseconds) }
    }
}
