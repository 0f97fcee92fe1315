internal import CLoadingLinux

/// How much the log on standard error tells (MISC-28).
enum TraceLevel: Int, Comparable, Sendable {
    /// A line for each request with its response, and one for each task that fails.
    case transactions = 1
    /// Each phase, each decision, and the names of all fields.
    case phases = 2
    /// The values of the fields as well, but for secrets.
    case values = 3

    /// - Parameter text: What `URLSESSION_LOG` says. Anything but a number from 1 on means no log; beyond 3 there is no more to
    ///   tell.
    init?(_ text: String) {
        guard let number = Int(text), number > 0 else { return nil }
        self = TraceLevel(rawValue: number) ?? .values
    }

    /// That of this process, from the environment that it was started with. Nil for no log, also in a process with other rights
    /// than the user who set the variable.
    static let ofProcess = cll_environment("URLSESSION_LOG").flatMap { TraceLevel(String(cString: $0)) }

    static func < (one: TraceLevel, other: TraceLevel) -> Bool { one.rawValue < other.rawValue }
}
