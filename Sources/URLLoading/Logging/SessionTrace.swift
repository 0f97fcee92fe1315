internal import LoadingEvents
internal import Synchronization

/// Writes a log of the tasks of one session.
final class SessionTrace: Sendable {
    private let level: TraceLevel
    /// Tells the sessions of a process apart.
    private let number: Int

    private static let count = Atomic(0)

    private init(_ level: TraceLevel) {
        self.level = level
        number = Self.count.add(1, ordering: .relaxed).newValue
    }

    /// Nil unless the environment asks for a log.
    static func ifWanted() -> SessionTrace? { TraceLevel.ofProcess.map { SessionTrace($0) } }

    func ofTask(_ identifier: Int) -> some EventTrace {
        TaskTrace(LoadTrace(level: level, name: "\(number).\(identifier)"))
    }
}

/// Writes a log of one task. Confined to the session's loop.
private final class TaskTrace: EventTrace {
    private var trace: LoadTrace

    init(_ trace: LoadTrace) { self.trace = trace }

    var wantsHeads: Bool { trace.level >= .phases }

    func receive(_ event: LoadEvent) {
        // Whoever held the lock of the output may have no thread in this process.
        if ForkedProcess.isCurrent { return }
        for line in trace.lines(of: event) { StandardError.log.write(line) }
    }
}
