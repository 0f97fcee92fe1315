internal import LoadingEvents
internal import Synchronization

/// Logs the tasks of one session.
final class SessionTrace: Sendable {
    private let level: TraceLevel
    /// Identifies the session within the process.
    private let number: Int

    private static let count = Atomic(0)

    private init(_ level: TraceLevel) {
        self.level = level
        number = Self.count.add(1, ordering: .relaxed).newValue
    }

    /// Nil unless logging is enabled in the environment.
    static func ifWanted() -> SessionTrace? { TraceLevel.ofProcess.map { SessionTrace($0) } }

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
