internal import CLoadingLinux

/// The level of detail of the log on standard error (MISC-28).
enum TraceLevel: Int, Comparable, Sendable {
    /// A line for each transaction, and one for each failed task.
    case transactions = 1
    /// Also phases, decisions, and the names of header fields.
    case phases = 2
    /// Also the values of header fields that are not secret.
    case values = 3

    /// - Parameter text: The value of `URLSESSION_LOG`. Values above 3 mean 3; anything but a positive number disables
    ///   the log.
    init?(_ text: String) {
        guard let number = Int(text), number > 0 else { return nil }
        self = TraceLevel(rawValue: number) ?? .values
    }

    /// The level of this process, from the environment at its start. Nil if the log is disabled, and in a setuid or
    /// setgid process.
    static let ofProcess = cll_environment("URLSESSION_LOG").flatMap { TraceLevel(String(cString: $0)) }

    static func < (one: TraceLevel, other: TraceLevel) -> Bool { one.rawValue < other.rawValue }
}
