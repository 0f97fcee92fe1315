/// A command line that cannot be carried out, and the one line that says why.
package struct UsageError: Error, Equatable, Sendable {
    package var message: String
    package var exitCode: ExitCode

    package init(_ message: String, exitCode: ExitCode = .usage) {
        self.message = message
        self.exitCode = exitCode
    }
}
