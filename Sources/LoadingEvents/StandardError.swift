internal import CLoadingLinux
internal import Glibc

/// Where the library says what nobody can be told otherwise.
package enum StandardError {
    /// For the lines of a log, which may be many.
    package static let log = LineOutput(STDERR_FILENO)

    /// One line, without a dot at its end.
    package static func say(_ message: String) {
        Array("URLLoading: \(message).\n".utf8).withUnsafeBytes {
            cll_write_message(STDERR_FILENO, $0.baseAddress, $0.count)
        }
    }
}
