internal import BackgroundTransfers
internal import Dispatch
internal import Foundation
internal import LoadingEvents
internal import LoadingPipeline
internal import LoadingSemantics
internal import LoadingTransport

/// A background session's side of its connection to the service: attaches to the session there, sends commands, and
/// passes notices to the loads of the tasks.
///
/// If the connection ends, the service has ended: it was killed, or it was replaced by a newer one. The session
/// connects again, which starts a new process. Commands that were not in the journal are sent again.
final class BackgroundSession: @unchecked Sendable {
    // Sendable: `commands` and `shared` guard themselves, and the rest is immutable or confined to the loop.

    let identifier: String
    /// Distinguishes this object from others with the same identifier, also those of other processes.
    private let owner = UInt64.random(in: 1...UInt64.max)
    let loop: EventLoop
    let commands = BackgroundCommands()
    private let connector: @Sendable () -> Result<Int32, LoadError>
    private let shared = SharedState()
    static let copies = DispatchQueue(label: "URLSession uploads", qos: .utility)

    // MARK: Confined to the loop

    private weak var core: SessionCore?
    /// The public object, until everything that had happened before was delivered. Then only its tasks retain it.
    private var heldSession: URLSession?
    private weak var session: URLSession?
    private var socket: MessageSocket<ServiceNotice, ServiceCommand>?
    private var phase = Phase.new
    private var connectionFailures = 0
    private var refusals = 0
    /// The number of the attachment; nil before the first one.
    private var attachment: UInt64?
    private let timer = LoopTimer()
    /// The tasks that have not been delivered to the program completely, by the identifier that the service knows.
    /// Before the session was attached: by the number of the task.
    private var loads: [Int: BackgroundLoad] = [:]
    /// Tasks that were delivered completely while the session was being attached, and that the service may still list.
    private var deliveredTasks: Set<Int> = []
    /// The tasks that the service has listed, while it does.
    private var listedTasks: Set<Int> = []
    private var whenListed: [() -> Void] = []
    /// Ends in their order, which wait for the one that is being delivered.
    private var ends = FIFOQueue<(load: BackgroundLoad, end: TransferEnd)>()
    private var isEnding = false
    /// What happened while no program was attached.
    private var replay = Replay()
    private var finishing: Finishing?
    /// Whether the session leaves its tasks to the service.
    private var isLeaving = false
    /// Whether the delegate is known to decide about server trust, or not to.
    private(set) var isTrustKnown = false
    /// Called when that is known, or when no task depends on it.
    private var trustWaiters: [@Sendable () -> Void] = []

    private enum Phase {
        case new
        case connecting
        case attaching
        case listing
        case attached
        /// A new attempt follows.
        case disconnected
        case lost(LoadError)
        case closed
    }

    private struct Replay {
        /// Whether the service has sent everything.
        var isComplete = false
        /// Whether there was anything, or the program was launched for it.
        var isWanted = false
        var undelivered: Set<Int> = []
        var isDelivered = false
    }

    private struct Finishing {
        let cancelsTasks: Bool
        var isAsked = false
        let done: () -> Void
    }

    /// What other threads read.
    private final class SharedState: @unchecked Sendable {
        // Sendable: the condition guards the values.
        private let condition = NSCondition()
        private var uploads: String?
        private var loss: LoadError?
        private var isDecided = false
        /// Whether a wait was in vain: the next ones do not block the program again.
        private var isSlow = false

        func decide(uploads: String?, loss: LoadError?) {
            condition.lock()
            (self.uploads, self.loss, isDecided) = (uploads ?? self.uploads, loss, true)
            condition.broadcast()
            condition.unlock()
        }

        /// Waits until the session was attached for the first time, or until it is known that it will not be, at most
        /// that long.
        func wait(seconds: Double) {
            condition.lock()
            let end = Date(timeIntervalSinceNow: seconds)
            while !isDecided, !isSlow, condition.wait(until: end) {}
            isSlow = !isDecided
            condition.unlock()
        }

        var values: (uploads: String?, loss: LoadError?) {
            condition.lock()
            defer { condition.unlock() }
            return (uploads, loss)
        }
    }

    init(_ identifier: String, _ configuration: SessionValues, on loop: EventLoop) {
        self.identifier = identifier
        self.loop = loop
        connector = configuration.connectToBackgroundService ?? { Self.connectToService() }
    }

    /// Attaches to the session in the service.
    func begin(_ session: URLSession) {
        let core = session.core
        guard loop.serve() else {
            return shared.decide(
                uploads: nil, loss: ForkedProcess.isCurrent ? .forkedProcess : .noThread)
        }
        BackgroundSessions.shared.add(self)
        loop.post { [self] in
            self.core = core
            self.session = session
            heldSession = session
            connect()
        }
    }

    // MARK: On any thread

    func add(_ command: ServiceCommand) {
        if commands.add(command) { loop.post { self.send() } }
    }

    func add(_ command: EncodedCommand) {
        if commands.add(command) { loop.post { self.send() } }
    }

    /// The folder for the files of requests; nil before the session was attached.
    var uploads: UploadFolder? { shared.values.uploads.map { UploadFolder(path: $0, owner: owner) } }
    /// Why the service is lost for good.
    var loss: LoadError? { shared.values.loss }

    /// Waits until commands go to the spool: then a task is not lost if the program is killed right after `resume`.
    func awaitAttachment() { shared.wait(seconds: TimeLimits.standard.backgroundAttach) }

    /// The identifier of a task. Waits until the service has sent the first free one.
    func awaitIdentifier(_ number: Int) -> Int {
        if number > 0 { return number }
        if let known = commands.known(number) { return known }
        shared.wait(seconds: TimeLimits.standard.backgroundAttach)
        return commands.known(number) ?? -number
    }

    /// Why a task cannot be created (BG-1).
    func creationError(of task: TaskCore) -> LoadError? {
        if case .data = task.kind { return .backgroundServiceLost("data tasks do not run in a background session") }
        guard task.core.configuration.proxyConfigurations.isEmpty else {
            return .backgroundServiceLost("a background session cannot use proxyConfigurations")
        }
        return nil
    }

    /// Copies the files of a request, when the folder for them is known. `mayMove` and `done` are called on any thread.
    func prepare(
        _ files: RequestFiles, mayMove: @escaping @Sendable () -> Bool,
        done: @escaping @Sendable (Result<TransferDescription, LoadError>) -> Void
    ) {
        loop.post { [self] in
            whenAttached { [self] in
                guard let folder = uploads else { return done(.failure(loss ?? .backgroundServiceLost("no folder"))) }
                Self.copies.async { done(files.prepare(in: folder, mayMove: mayMove)) }
            }
        }
    }

    // MARK: Connection

    private static func connectToService() -> Result<Int32, LoadError> {
        do throws(ServiceStartFailure) {
            return .success(try ServiceStart.connect(to: ServicePlace()))
        } catch {
            return .failure(.backgroundServiceLost("\(error)"))
        }
    }

    private func connect() {
        phase = .connecting
        loop.callOut(
            CalledOut { [loop, connector] in
                let result = connector()
                loop.post { self.connected(result) }
            })
    }

    private func connected(_ result: Result<Int32, LoadError>) {
        guard case .connecting = phase else {
            if case .success(let descriptor) = result { close(descriptor) }
            return
        }
        switch result {
        case .failure(let error): connectionFailed(error)
        case .success(let descriptor):
            phase = .attaching
            let socket = MessageSocket<ServiceNotice, ServiceCommand>(
                descriptor, on: loop, largestMessage: ServiceProtocol.largestCommand
            ) { [weak self] notices in
                // Any of them may end the connection.
                for notice in notices where self?.socket != nil { self?.receive(notice) }
            } ended: { [weak self] reason in
                self?.connectionEnded(reason)
            }
            socket.drained = { [weak self] in self?.send() }
            self.socket = socket
            socket.send(.hello(ServiceHello(application: Program.identifier)))
        }
    }

    private func connectionEnded(_ reason: MessageSocketEnd) {
        socket = nil
        commands.disconnected()
        switch reason {
        case .unknownVersion, .malformed:
            lose(
                .backgroundServiceLost(
                    "this program and the background service do not understand each other: \(reason)"))
        case .closed, .tooLong, .backlog, .error:
            connectionFailed(.backgroundServiceLost("the background service has ended"))
        }
    }

    /// Tries again, soon and then less often.
    private func connectionFailed(_ error: LoadError) {
        if case .closed = phase { return }
        connectionFailures += 1
        // A service that was there is replaced. One that never was is not waited for: it could not be started.
        let delays = attachment != nil ? loop.limits.backgroundReconnects : shortDelays
        guard connectionFailures <= delays.count else { return lose(error) }
        phase = .disconnected
        loop.arm(timer, at: loop.now &+ delays[connectionFailures - 1], for: self)
    }

    private var shortDelays: [Int64] { Array(loop.limits.backgroundReconnects.prefix(3)) }

    /// Sends the next commands, unless many bytes wait for the service.
    private func send() {
        switch phase {
        case .listing, .attached: break
        default: return
        }
        while let socket, socket.queuedBytes < socket.drainMark {
            let next = commands.next(64)
            if next.isEmpty { return }
            if !socket.send(next) {
                // One that is too long ends its task only.
                for command in next where !socket.send(command) { tooLong(command) }
            }
        }
    }

    private func tooLong(_ command: ServiceCommand) {
        // Keeps the numbers: any command without effect.
        socket?.send(.suspend(task: 0))
        switch command {
        case .create(let description): loads[description.task]?.end(.resourceExceedsMaximum)
        // The transfer would wait for them for ever.
        case .begin(let task, _), .answer(let task, _):
            loads[task]?.end(.resourceExceedsMaximum)
            add(.cancel(task: task))
        default: break
        }
    }

    // MARK: Notices

    private func receive(_ notice: ServiceNotice) {
        switch notice {
        case .welcome:
            guard let core else { return end() }
            var description = SessionDescription(core, identifier: identifier)
            description.owner = owner
            socket?.send(.attach(description, again: attachment))
        case .refused(let refusal): refused(refusal)
        case .attached(let state): attached(state)
        case .task(let state): listed(state)
        case .listed: listed()
        case .committed(let number): commands.committed(number)
        case .report(let task, let report): loads[task]?.receive(report)
        case .restarted(let task, let progress): loads[task]?.restarted(progress)
        case .due(let task): loads[task]?.becomeDue()
        case .ended(let task, let end):
            guard let load = loads[task] else { return }
            if !replay.isComplete {
                replay.isWanted = true
                replay.undelivered.insert(task)
            }
            ends.append((load, end))
            deliverEnds()
        case .replayed:
            replay.isComplete = true
            checkReplay()
        case .invalidated: end()
        // For administrators.
        case .transfers, .changed, .removed, .described, .controlled: break
        }
    }

    private func refused(_ refusal: ServiceRefusal) {
        socket?.close()
        socket = nil
        commands.disconnected()
        switch refusal {
        case .sessionInUse:
            // A process that has just ended, or a session that was just released, may not be noticed yet.
            refusals += 1
            let delays = shortDelays
            guard refusals <= delays.count else { return lose(.backgroundSessionInUse) }
            phase = .disconnected
            loop.arm(timer, at: loop.now &+ delays[refusals - 1], for: self)
        case .version(let oldest, let newest, let program):
            let update =
                newest < ServiceProtocol.oldestVersion
                ? "the background service \(program) is too old for this program: update or end it"
                : "this program is too old for the background service \(program): update the program"
            lose(
                .backgroundServiceLost(
                    "\(update) (it supports versions \(oldest) to \(newest), the program "
                        + "\(ServiceProtocol.oldestVersion) to \(ServiceProtocol.version))"))
        case .journal(let reason): lose(.backgroundServiceLost("the journal of the background service: \(reason)"))
        case .invalidMessage: lose(.backgroundServiceLost("the background service refuses a message of this program"))
        }
    }

    private func attached(_ state: SessionState) {
        guard SessionState.nextIdentifiers.contains(state.nextIdentifier) else {
            return lose(.backgroundServiceLost("the session has no identifiers for new tasks"))
        }
        phase = .listing
        attachment = state.attachment
        listedTasks = []
        commands.attached(state)
        loads = Dictionary(loads.values.map { ($0.identifier, $0) }) { first, _ in first }
        if state.isLaunched { replay.isWanted = true }
        if !state.asksServerTrust { isTrustKnown = true }
        shared.decide(uploads: state.uploads, loss: nil)
    }

    private func listed(_ state: TransferState) {
        let task = state.description.task
        listedTasks.insert(task)
        if let load = loads[task] { return load.attachedAgain(state) }
        guard !deliveredTasks.contains(task), let core, let session else { return }
        loads[task] = core.adopt(state, session, in: self)
    }

    private func listed() {
        phase = .attached
        (connectionFailures, refusals) = (0, 0)
        deliveredTasks = []
        // The program may be creating one: what the service is to know already is asked before what it may not know
        // yet.
        let missing = loads.filter { !listedTasks.contains($0.key) && $0.value.isKnown }
        let unknown = commands.newTasks
        for (task, load) in missing where !unknown.contains(task) {
            load.end(.backgroundServiceLost("the background service does not have the task any more"))
        }
        listedTasks = []
        let waiting = whenListed
        whenListed = []
        for body in waiting { body() }
        send()
        // The service was ended before it had answered.
        if !commands.hasInvalidation { finishing?.isAsked = false }
        finishIfPossible()
    }

    // MARK: Tasks

    /// A task that the program has created.
    func add(_ load: BackgroundLoad) { loads[load.identifier] = load }

    /// Calls the body when the tasks of the session are known, or are known not to become known.
    func whenTasksAreKnown(_ body: @escaping () -> Void) { whenAttached(body) }

    private func whenAttached(_ body: @escaping () -> Void) {
        switch phase {
        case .attached, .lost, .closed: body()
        case .new, .connecting, .attaching, .listing, .disconnected: whenListed.append(body)
        }
    }

    /// The end of a load is delivered. Of a task that the service does not know, nothing else follows.
    func ended(_ load: BackgroundLoad) {
        resumeTrustWaiters()
        finishIfPossible()
    }

    /// The end of a task was delivered to the delegate.
    func endWasDelivered(_ load: BackgroundLoad) {
        let task = load.identifier
        loads[task] = nil
        if case .attached = phase {} else { deliveredTasks.insert(task) }
        replay.undelivered.remove(task)
        checkReplay()
        finishIfPossible()
    }

    private func deliverEnds() {
        guard !isEnding else { return }
        isEnding = true
        // Most are delivered within the call, and there may be thousands, so this does not recurse.
        while let next = ends.popFirst() {
            var (isWithinCall, isDelivered) = (true, false)
            next.load.end(next.end) { [self] in
                isDelivered = true
                if isWithinCall { return }
                isEnding = false
                deliverEnds()
            }
            isWithinCall = false
            if !isDelivered { return }
        }
        isEnding = false
    }

    // MARK: Replay

    /// Reports that everything that happened before was delivered (BG-12).
    private func checkReplay() {
        guard replay.isComplete, replay.undelivered.isEmpty, !replay.isDelivered else { return }
        replay.isDelivered = true
        if replay.isWanted, let session = heldSession, let core {
            core.delivery.schedule {
                _ = core.delegateReference?.urlSessionDidFinishEvents(forBackgroundURLSession: session)
            }
        }
        releaseSession()
    }

    /// With the loop lent, because the deinit of a delegate is the program's code.
    private func releaseSession() {
        guard let held = heldSession else { return }
        heldSession = nil
        loop.callOut(CalledOut { withExtendedLifetime(held) {} })
    }

    // MARK: The end

    private func lose(_ error: LoadError) {
        phase = .lost(error)
        shared.decide(uploads: nil, loss: error)
        socket?.close()
        socket = nil
        releaseSession()
        for load in loads.values.sorted(by: { $0.identifier < $1.identifier }) { load.lost(error) }
        let waiting = whenListed
        whenListed = []
        for body in waiting { body() }
        finishIfPossible()
    }

    /// The session is invalidated. `done` is called when the service knows it.
    ///
    /// - Parameter cancelsTasks: All tasks were cancelled. Else they are left to the service (BG-20).
    func finish(cancelsTasks: Bool, _ done: @escaping () -> Void) {
        guard finishing == nil else { return }
        finishing = Finishing(cancelsTasks: cancelsTasks, done: done)
        finishIfPossible()
    }

    /// Leaves all tasks to the service. One whose files are being copied follows when the service knows it.
    func leaveTasks() {
        isLeaving = true
        for load in loads.values.sorted(by: { $0.identifier < $1.identifier }) { leave(load) }
    }

    /// The service knows the task from now on.
    func isCreated(_ load: BackgroundLoad) {
        if isLeaving { leave(load) }
    }

    private func leave(_ load: BackgroundLoad) {
        guard load.isKnown, load.leave() else { return }
        loads[load.identifier] = nil
        finishIfPossible()
    }

    // MARK: Server trust

    /// A challenge has shown whether the delegate decides about server trust. If it does not, handshakes do not wait
    /// for the program.
    func learnedTrust(asks: Bool) {
        guard !isTrustKnown else { return }
        isTrustKnown = true
        if !asks { add(.setAsksServerTrust(false)) }
        resumeTrustWaiters()
    }

    /// Waits until a challenge has shown it, if there is a task that needs one. Called at the exit of the process: a
    /// task that was just created would else wait until the program is started again.
    func awaitTrust(until deadline: DispatchTime) {
        let known = DispatchSemaphore(value: 0)
        loop.post { [self] in
            trustWaiters.append { known.signal() }
            resumeTrustWaiters()
        }
        _ = known.wait(timeout: deadline)
    }

    private func resumeTrustWaiters() {
        if trustWaiters.isEmpty { return }
        if !isTrustKnown, loss == nil, finishing == nil, loads.values.contains(where: \.needsTrust) { return }
        let waiters = trustWaiters
        trustWaiters = []
        for waiter in waiters { waiter() }
    }

    private func finishIfPossible() {
        guard let finishing, loads.isEmpty else { return }
        switch phase {
        case .lost: end()
        case .attached where !finishing.isAsked:
            self.finishing?.isAsked = true
            add(.invalidate(cancelsTasks: finishing.cancelsTasks))
        case .new, .connecting, .attaching, .listing, .attached, .disconnected, .closed: break
        }
    }

    /// Closes the connection. The tasks go on.
    func end() {
        if case .closed = phase { return }
        phase = .closed
        loop.disarm(timer)
        socket?.close()
        socket = nil
        commands.close()
        releaseSession()
        BackgroundSessions.shared.remove(self)
        let done = finishing?.done
        finishing = nil
        let waiting = whenListed
        whenListed = []
        for body in waiting { body() }
        done?()
    }
}

extension BackgroundSession: LoopTimerTarget {
    func timerFired(_ timer: LoopTimer) {
        if case .disconnected = phase { connect() }
    }
}

/// The background sessions of the process.
final class BackgroundSessions: @unchecked Sendable {
    // Sendable: `lock` guards the sessions.
    static let shared = BackgroundSessions()

    private let lock = Lock()
    private var sessions: [BackgroundSession] = []

    private init() {
        atexit { BackgroundSessions.shared.awaitTrust() }
    }

    func add(_ session: BackgroundSession) { lock.withLock { sessions.append(session) } }

    private func awaitTrust() {
        if ForkedProcess.isCurrent { return }
        let deadline = DispatchTime.now() + TimeLimits.standard.backgroundTrust
        for session in lock.withLock({ sessions }) { session.awaitTrust(until: deadline) }
    }

    func remove(_ session: BackgroundSession) {
        lock.withLock { sessions.removeAll { $0 === session } }
    }

    /// The program has handled the events for which it was launched.
    func handledEvents(of identifier: String) {
        for session in lock.withLock({ sessions }) where session.identifier == identifier {
            session.add(.handledEvents)
        }
    }
}
