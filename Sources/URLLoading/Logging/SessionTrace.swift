internal import LoadingEvents

/// Logs the tasks of one session.
final class SessionTrace: Sendable {
    private let level: TraceLevel
    private let number: Int

    private init(_ level: TraceLevel, _ number: Int) {
        self.level = level
        self.number = number
    }

    /// Nil unless logging is enabled in the environment.
    ///
    /// - Parameter number: Identifies the session within the process.
    static func ifWanted(_ number: Int) -> SessionTrace? { TraceLevel.ofProcess.map { SessionTrace($0, number) } }

    func ofTask(_ identifier: Int) -> some EventTrace {
        TaskTrace(LoadTrace(level: level, name: "\(number).\(identifier)"))
    }
}

/// Logs one task. Confined to the session's loop.
private final class TaskTrace: EventTrace {
    private var trace: LoadTrace

    init(_ trace: LoadTrace) { self.trace = trace }

    var wantsHeads: Bool { trace.level >= .phases }

    func receive(_ event: LoadEvent) {
        // The thread that held the output's lock may not exist in the forked process.
        if ForkedProcess.isCurrent { return }
        for line in trace.lines(of: event) { StandardError.log.write(line) }
    }
}
