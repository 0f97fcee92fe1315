/// Which queued transfers run (BG-19): a few of each session, and a limited number in all. Applications take turns, and
/// so do the sessions of each. In a session the higher priority is first, then the earlier one.
package struct TransferSchedule: Sendable {
    package struct Limits: Sendable, Equatable {
        package var perSession: Int
        package var total: Int
        /// How many of a session may leave their place in it to others while they wait for the program.
        package var waiting: Int

        /// Decision: a session's transfers rarely need more to fill a link, and 32 connections at work cost little
        /// memory.
        package static let standard = Limits(perSession: 4, total: 32)

        package init(perSession: Int, total: Int, waiting: Int = 32) {
            self.perSession = perSession
            self.total = total
            self.waiting = waiting
        }
    }

    private struct Entry {
        let task: Int
        let priority: Float
        let number: UInt64

        func precedes(_ other: Entry) -> Bool {
            priority != other.priority ? priority > other.priority : number < other.number
        }
    }

    /// The queue of a session. Removed entries stay until they are reached, or are too many.
    private struct Line {
        private var entries: [Entry] = []
        private var head = 0
        /// The number of the valid entry of each queued task.
        private var numbers: [Int: UInt64] = [:]
        var running: Set<Int> = []
        /// Those that run, but wait for the program, and have left their place to others.
        var waiting: Set<Int> = []
        /// Those of `running` that wait for the program too, and have left their place to other sessions only.
        var kept: Set<Int> = []

        var isQueueEmpty: Bool { numbers.isEmpty }
        var isUnused: Bool { numbers.isEmpty && running.isEmpty && waiting.isEmpty }

        mutating func append(_ entry: Entry) {
            numbers[entry.task] = entry.number
            dropRemoved()
            // Most entries have the same priority, so the place is the end.
            if entries.count == head || !entry.precedes(entries[entries.count - 1]) { return entries.append(entry) }
            var (low, high) = (head, entries.count)
            while low < high {
                let middle = (low + high) / 2
                if entry.precedes(entries[middle]) { high = middle } else { low = middle + 1 }
            }
            entries.insert(entry, at: low)
        }

        /// A transfer may be queued again any number of times before its turn.
        private mutating func dropRemoved() {
            guard entries.count - head > 2 * numbers.count + 64 else { return }
            entries = entries[head...].filter { numbers[$0.task] == $0.number }
            head = 0
        }

        mutating func remove(_ task: Int) -> Bool { numbers.removeValue(forKey: task) != nil }

        /// One that waits leaves its place in the session when another one does not wait any more.
        mutating func leaveKeptPlaces(_ limits: Limits) {
            while waiting.count < limits.waiting, let task = kept.min() {
                kept.remove(task)
                running.remove(task)
                waiting.insert(task)
            }
        }

        /// Takes the first one from the queue, which runs from then on. Nil if none may run now.
        mutating func start(_ limits: Limits) -> Int? {
            guard running.count < limits.perSession, let task = popFirst() else { return nil }
            running.insert(task)
            return task
        }

        private mutating func popFirst() -> Int? {
            while head < entries.count {
                let entry = entries[head]
                head += 1
                if head > 64, head * 2 > entries.count {
                    entries.removeFirst(head)
                    head = 0
                }
                if numbers[entry.task] == entry.number {
                    numbers[entry.task] = nil
                    return entry.task
                }
            }
            entries = []
            head = 0
            return nil
        }
    }

    private struct Application {
        var lines: [String: Line] = [:]
        /// The sessions with queued transfers, in the order of their turns.
        var turns: [String] = []
    }

    private let limits: Limits
    private var applications: [String: Application] = [:]
    /// The applications with queued transfers, in the order of their turns.
    private var turns: [String] = []
    private var lastNumber: UInt64 = 0
    package private(set) var runningCount = 0

    package init(limits: Limits = .standard) { self.limits = limits }

    /// Queues a transfer that is neither queued nor running.
    package mutating func enqueue(_ transfer: TransferReference, priority: Float) {
        lastNumber += 1
        let entry = Entry(task: transfer.task, priority: priority.isFinite ? priority : 0.5, number: lastNumber)
        var application = applications.removeValue(forKey: transfer.application) ?? Application()
        application.lines[transfer.session, default: Line()].append(entry)
        if !application.turns.contains(transfer.session) { application.turns.append(transfer.session) }
        applications[transfer.application] = application
        if !turns.contains(transfer.application) { turns.append(transfer.application) }
    }

    /// Removes a transfer, queued or running, if it is there.
    package mutating func remove(_ transfer: TransferReference) {
        guard var application = applications.removeValue(forKey: transfer.application) else { return }
        if var line = application.lines.removeValue(forKey: transfer.session) {
            if !line.remove(transfer.task), line.waiting.remove(transfer.task) == nil,
                line.running.remove(transfer.task) != nil, line.kept.remove(transfer.task) == nil
            {
                runningCount -= 1
            }
            line.leaveKeptPlaces(limits)
            if line.isQueueEmpty { application.turns.removeAll { $0 == transfer.session } }
            if !line.isUnused { application.lines[transfer.session] = line }
        }
        if application.turns.isEmpty { turns.removeAll { $0 == transfer.application } }
        if !application.lines.isEmpty { applications[transfer.application] = application }
    }

    /// A running transfer waits for its program, perhaps for days, and leaves its place to others: to those of its own
    /// session too, if not too many of it wait already. When it goes on it counts again: there may be more than the
    /// limit then, because its server does not wait.
    package mutating func setWaits(_ waits: Bool, _ transfer: TransferReference) {
        guard var line = applications[transfer.application]?.lines[transfer.session] else { return }
        if waits {
            guard line.running.contains(transfer.task), !line.kept.contains(transfer.task) else { return }
            if line.waiting.count < limits.waiting {
                line.running.remove(transfer.task)
                line.waiting.insert(transfer.task)
            } else {
                line.kept.insert(transfer.task)
            }
            runningCount -= 1
        } else {
            if line.waiting.remove(transfer.task) != nil {
                line.running.insert(transfer.task)
            } else if line.kept.remove(transfer.task) == nil {
                return
            }
            runningCount += 1
            line.leaveKeptPlaces(limits)
        }
        applications[transfer.application]?.lines[transfer.session] = line
    }

    /// Changes the place of a queued transfer.
    package mutating func setPriority(_ priority: Float, of transfer: TransferReference) {
        guard applications[transfer.application]?.lines[transfer.session]?.remove(transfer.task) == true else { return }
        enqueue(transfer, priority: priority)
    }

    /// Takes the next transfer from its queue, which runs from then on until `remove`. Nil if none may run now.
    package mutating func next() -> TransferReference? {
        guard runningCount < limits.total else { return nil }
        for place in turns.indices {
            let name = turns[place]
            guard let (session, task) = next(of: name) else { continue }
            turns.remove(at: place)
            if applications[name]?.turns.isEmpty == false { turns.append(name) }
            runningCount += 1
            return TransferReference(application: name, session: session, task: task)
        }
        return nil
    }

    private mutating func next(of name: String) -> (session: String, task: Int)? {
        guard var application = applications.removeValue(forKey: name) else { return nil }
        defer { applications[name] = application }
        for place in application.turns.indices {
            let session = application.turns[place]
            // In its place, because a change of a second reference to the queue would copy it.
            guard let task = application.lines[session]?.start(limits) else { continue }
            application.turns.remove(at: place)
            if application.lines[session]?.isQueueEmpty == false { application.turns.append(session) }
            return (session, task)
        }
        return nil
    }
}
