internal import CLoadingLinux
internal import Glibc

/// Messages that have no other channel.
package enum StandardError {
    /// For log lines, which may be numerous.
    package static let log = LineOutput(STDERR_FILENO)

    /// Writes one line. `message` has no final full stop.
    package static func write(_ message: String) {
        Array("URLLoading: \(message).\n".utf8).withUnsafeBytes {
            cll_write_message(STDERR_FILENO, $0.baseAddress, $0.count)
        }
    }
}
