internal import BackgroundTransfers
internal import LoadingEvents
internal import LoadingPipeline
internal import LoadingSemantics
internal import LoadingTransport

/// The commands of a background session, numbered, until the journal of the service has them. Thread-safe.
///
/// A command is in the session's spool when `add` returns, so it is carried out even if the program is killed then.
/// Before the session is attached for the first time there is no spool, and the commands wait in memory. Answers to
/// challenges are never in the spool, because they have passwords: if one is lost, the next program gets the challenge
/// again.
final class BackgroundCommands: @unchecked Sendable {
    // Sendable: `lock` guards everything.
    private let lock = Lock()
    private var commands = FIFOQueue<ServiceCommand>()
    /// The number of the first of `commands`.
    private var first: UInt64 = 1
    /// How many of `commands` were sent in the present connection.
    private var sent = 0
    /// The offset of the identifiers that were given before the session was attached, which are negative.
    private var identifierOffset: Int?
    private var lastIdentifier = 0
    private var spool: CommandSpool?
    /// Whether the spool lacks a command, because its disk was full. Those that follow are not in it either: a service
    /// that found them there would take the missing one for carried out.
    private var isSpoolIncomplete = false
    private var isConnected = false

    // MARK: Identifiers

    /// An identifier for a new task: negative if the session was not attached yet.
    func newIdentifier() -> Int {
        lock.withLock {
            // Below twice `SessionState.nextIdentifiers.upperBound`, which `attached` does not exceed.
            lastIdentifier += 1
            return identifierOffset == nil ? -lastIdentifier : lastIdentifier
        }
    }

    /// The identifier that the service knows. Nil before the session was attached.
    func known(_ identifier: Int) -> Int? {
        identifier > 0 ? identifier : lock.withLock { identifierOffset.map { $0 &- identifier } }
    }

    // MARK: Commands

    /// Adds a command. Returns true if it has to be sent.
    func add(_ command: ServiceCommand) -> Bool {
        // The descriptors of a forked process are those of its parent.
        if ForkedProcess.isCurrent { return false }
        return lock.withLock { addLocked(encode(command)) }
    }

    /// Adds a command that `encoded` has made.
    func add(_ command: EncodedCommand) -> Bool {
        if ForkedProcess.isCurrent { return false }
        return lock.withLock { addLocked(command) }
    }

    /// The command, encoded for the spool. The session has been attached, so that identifiers are known.
    func encoded(_ command: ServiceCommand) -> EncodedCommand { lock.withLock { encode(command) } }

    private func encode(_ command: ServiceCommand) -> EncodedCommand {
        EncodedCommand(identifierOffset.map { command.withIdentifiers(after: $0) } ?? command)
    }

    private func addLocked(_ command: EncodedCommand) -> Bool {
        // Without the spool, which may be on a full disk, the command is lost only if the service ends before it has
        // it.
        if command.isSpooled { appendToSpool([command], from: first &+ UInt64(commands.count)) }
        commands.append(command.command)
        return isConnected && commands.count - sent == 1
    }

    /// The session is attached, with one of `SessionState.nextIdentifiers`. Everything in `commands` that the service
    /// does not have is to be sent (again).
    func attached(_ state: SessionState) {
        lock.withLock {
            if identifierOffset == nil {
                identifierOffset = state.nextIdentifier &- 1
                lastIdentifier &+= state.nextIdentifier &- 1
                for command in commands.popAll() {
                    commands.append(command.withIdentifiers(after: state.nextIdentifier &- 1))
                }
                first = state.commands &+ 1
                spool = try? CommandSpool(path: state.spool)
                spoolAll()
            } else {
                remove(upTo: state.commands)
                // A service whose journal did not know this session object has removed its spool.
                let isRemoved = spool?.isRemoved != false
                // The journal has lost commands that it had, so that the numbers of the others are too high.
                let areRenumbered = first != state.commands &+ 1
                first = state.commands &+ 1
                if isRemoved { spool = try? CommandSpool(path: state.spool) } else if areRenumbered { spool?.empty() }
                if isRemoved || areRenumbered { spoolAll() }
            }
            sent = 0
            isConnected = true
        }
    }

    private func spoolAll() {
        isSpoolIncomplete = false
        let encoded = commands.all.map { EncodedCommand($0) }
        for run in encoded.indices.split(whereSeparator: { !encoded[$0].isSpooled }) {
            appendToSpool(Array(encoded[run]), from: first &+ UInt64(run.lowerBound))
        }
    }

    private func appendToSpool(_ commands: [EncodedCommand], from number: UInt64) {
        guard let spool, !isSpoolIncomplete else { return }
        do { try spool.append(commands, from: number) } catch { isSpoolIncomplete = true }
    }

    func committed(_ number: UInt64) {
        lock.withLock {
            remove(upTo: number)
            spool?.committed(number)
            if commands.isEmpty { isSpoolIncomplete = false }
        }
    }

    private func remove(upTo number: UInt64) {
        guard number >= first else { return }
        let count = min(commands.count, Int(clamping: number - first &+ 1))
        for _ in 0..<count { _ = commands.popFirst() }
        first &+= UInt64(count)
        sent = max(0, sent - count)
    }

    /// The next commands to send, at most that many.
    func next(_ most: Int) -> [ServiceCommand] {
        lock.withLock {
            guard isConnected else { return [] }
            let next = commands.copies(sent..<min(commands.count, sent + most))
            sent += next.count
            return next
        }
    }

    /// The session has ended. Nothing is added any more that the service has to carry out.
    func close() { lock.withLock { (isConnected, spool) = (false, nil) } }

    func disconnected() { lock.withLock { isConnected = false } }

    /// Whether the journal has all commands.
    var isEmpty: Bool { lock.withLock { commands.isEmpty } }

    /// Whether the service has not yet been notified that the session is invalidated.
    var hasInvalidation: Bool {
        lock.withLock { commands.all.contains { if case .invalidate = $0 { true } else { false } } }
    }

    /// The tasks that the service may not know yet.
    var newTasks: Set<Int> {
        lock.withLock {
            Set(commands.all.compactMap { if case .create(let description) = $0 { description.task } else { nil } })
        }
    }
}

extension EncodedCommand {
    /// Answers to challenges have passwords.
    fileprivate var isSpooled: Bool {
        if case .answer = command { return false }
        return !isTooLong
    }
}

extension ServiceCommand {
    /// With the identifiers of tasks that were given before there was an offset.
    fileprivate func withIdentifiers(after offset: Int) -> ServiceCommand {
        func known(_ task: Int) -> Int { task < 0 ? offset &- task : task }
        switch self {
        case .create(var description):
            description.task = known(description.task)
            description.request.identifier = description.task
            return .create(description)
        case .resume(let task): return .resume(task: known(task))
        case .suspend(let task): return .suspend(task: known(task))
        case .cancel(let task): return .cancel(task: known(task))
        case .setPriority(let task, let value): return .setPriority(task: known(task), value)
        case .setTaskDescription(let task, let value): return .setTaskDescription(task: known(task), value)
        case .setEarliestBegin(let task, let value): return .setEarliestBegin(task: known(task), value)
        case .setExpectedBytes(let task, let toSend, let toReceive):
            return .setExpectedBytes(task: known(task), toSend: toSend, toReceive: toReceive)
        case .answer(let task, let value): return .answer(task: known(task), value)
        case .begin(let task, let value): return .begin(task: known(task), value)
        case .acknowledge(let task, let value): return .acknowledge(task: known(task), value)
        case .hello, .attach, .setAsksServerTrust, .invalidate, .handledEvents, .list, .watch, .describe, .control:
            return self
        }
    }
}
