import TestSupport

/// The `curl` command as a client that is known to be right.
enum Curl {
    static func run(_ arguments: String...) throws -> (exit: ChildProcess.Exit, output: String) {
        try ChildProcess.run("/usr/bin/curl", ["--silent", "--show-error", "--max-time", "10"] + arguments)
    }
}
