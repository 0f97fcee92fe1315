internal import Glibc
internal import LoadingConnections
internal import LoadingEvents
package import LoadingPipeline
internal import LoadingSemantics
internal import LoadingStorage
package import LoadingTransport

/// The background transfers of one user: sessions, transfers, the programs that are attached, and the journal. Confined
/// to its loop.
package final class TransferService {
    package typealias MakeEnvironment = (_ application: String, SessionDescription, EventLoop) -> LoadingEnvironment

    /// What is called at a time of the wall clock.
    enum Sleeper: Hashable {
        case transfer(TransferReference)
        case session(SessionReference)
    }

    let loop: EventLoop
    let folders: ServiceFolders
    let makeEnvironment: MakeEnvironment
    let commits: CommitQueue
    let keeper = FileKeeper(named: "url-files")
    /// For the bodies of uploads, which programs may have written just before.
    let bodies = FileKeeper(named: "url-bodies")
    let launcher: ProgramLauncher
    /// The path of the executable.
    let program: String
    /// After how many bytes of a download its file is synchronized: at most these are transferred again after a power
    /// failure.
    let syncInterval: Int64
    var schedule: TransferSchedule
    private let journal: TransferJournal
    private var sessions: [SessionReference: ServiceSession] = [:]
    private var clients: [ObjectIdentifier: ServiceClient] = [:]
    /// The sessions that are being removed.
    private var removals: Set<SessionReference> = []
    /// Accepted before the journal was read.
    private var early: [Int32] = []
    private var state = State.loading
    private var wakeUps = WakeUps<Sleeper>()
    /// The number of times after which unwanted ones are removed.
    private var wakeUpLimit = 64
    private var clock: WallClockTimer?
    private(set) var machineClock: MachineClock
    private var isNoticing = false
    private var conditions: SystemConditions?
    private var isWatchingConditions = false
    /// How many transfers at work run only at good times.
    var discretionaryCount = 0
    private var routeWait: RouteWait?
    private var isPumpPosted = false
    private var behind: [ServiceTransfer] = []
    private let progressTimer = LoopTimer()
    private let becameIdle: () -> Void

    private enum State {
        case loading
        case running
        case unusable(StorageFailure)
    }

    /// - Parameter becameIdle: Called on the loop, in a later turn, when `isIdle` may have become true.
    package init(
        on loop: EventLoop, folders: ServiceFolders, journal: TransferJournal, program: String,
        limits: TransferSchedule.Limits = .standard, syncInterval: Int64 = 32 << 20,
        makeEnvironment: @escaping MakeEnvironment, becameIdle: @escaping () -> Void = {}
    ) {
        self.loop = loop
        self.folders = folders
        self.journal = journal
        self.program = program
        self.syncInterval = syncInterval
        self.makeEnvironment = makeEnvironment
        self.becameIdle = becameIdle
        machineClock = MachineClock(loop.clock)
        schedule = TransferSchedule(limits: limits)
        commits = CommitQueue(journal, on: loop)
        launcher = ProgramLauncher(on: loop)
        commits.recordsWereLost = { [weak self] in self?.saveEverything() }
        // A change may have waited for the disk, and nothing else may happen any more.
        commits.becameEmpty = { [weak self] in self?.checkIdle() }
    }

    /// Seconds since 1970.
    var now: Double { Double(loop.clock.wallNow) / 1e9 }

    // MARK: Start

    /// Reads the journal and goes on with its transfers. Called once.
    package func start() {
        clock = WallClockTimer(on: loop) { [weak self] in self?.timePassed() }
        arm()
        conditions = SystemConditions(on: loop) { [weak self] in self?.conditionsChanged() }
        let (box, loop) = (LoopBox(self), loop)
        journal.load { result in loop.post { box.value.loaded(result) } }
    }

    private func loaded(_ result: Result<JournalContents, StorageFailure>) {
        switch result {
        case .failure(let failure):
            state = .unusable(failure)
            acceptEarly()
        case .success(let contents):
            for record in contents.sessions {
                sessions[record.reference] = ServiceSession(record, isInJournal: true, in: self)
            }
            for record in contents.transfers { sessions[record.sessionReference]?.restore(record) }
            let (box, loop, folders) = (LoopBox(self), loop, folders)
            keeper.run {
                let living = folders.livingOwners()
                let spools = folders.spools(of: contents.sessions)
                // Before there is a load, whose file nothing refers to yet.
                folders.removeOrphans(of: contents, spools, living: living)
                loop.post { box.value.restored(spools) }
            }
        }
    }

    private func restored(_ spools: [SessionReference: [SessionSpool]]) {
        state = .running
        noticeClock()
        // The session that was used first is the first one in the schedule.
        for session in sessions.values.sorted(by: { $0.record.lastUsed < $1.record.lastUsed }) {
            session.goOn(with: spools[session.reference] ?? [])
        }
        removeOldSessions()
        acceptEarly()
        checkIdle()
    }

    /// Removes sessions without transfers that no program has used for long, or of which there are too many.
    private func removeOldSessions() {
        let unused = sessions.values.filter(\.isUnused).sorted { $0.record.lastUsed > $1.record.lastUsed }
        let oldest = now - loop.limits.backgroundSession
        for (index, session) in unused.enumerated() where session.record.lastUsed < oldest || index >= Self.mostUnused {
            if removals.insert(session.reference).inserted { remove(session) }
        }
    }

    /// A session has no program and no transfers any more.
    func becameUnused() {
        if sessions.count > Self.mostUnused { removeOldSessions() }
    }

    private static let mostUnused = 1000

    private func acceptEarly() {
        let waiting = early
        early = []
        for descriptor in waiting { accept(descriptor) }
    }

    // MARK: Clients

    /// Takes a connected socket of this user.
    package func accept(_ descriptor: Int32) {
        switch state {
        case .loading: early.append(descriptor)
        case .running:
            let client = ServiceClient(descriptor, of: self)
            clients[ObjectIdentifier(client)] = client
        case .unusable(let failure):
            let client = ServiceClient(descriptor, of: self)
            clients[ObjectIdentifier(client)] = client
            client.refuse(.journal("\(failure)"))
        }
    }

    func clientEnded(_ client: ServiceClient) {
        clients[ObjectIdentifier(client)] = nil
        checkIdle()
    }

    func session(_ application: String, _ description: SessionDescription) -> ServiceSession {
        let reference = SessionReference(application: application, session: description.identifier)
        // It is not old any more.
        removals.remove(reference)
        if let session = sessions[reference] { return session }
        let record = SessionRecord(application: application, description: description)
        let new = ServiceSession(record, isInJournal: false, in: self)
        sessions[reference] = new
        return new
    }

    func remove(_ session: ServiceSession) {
        let path = folders.spool(of: session.record)
        let (box, loop) = (LoopBox((self, session)), loop)
        commits.afterSuccess(session.reference) { [self] in
            guard session.isUnused, removals.contains(session.reference) else { return isKept(session) }
            // The spool first: a new session would have no number of the last command, and would carry out the old ones
            // again.
            keeper.run {
                unlink(path)
                loop.post { box.value.0.removeRecord(of: box.value.1) }
            }
        }
    }

    /// Drops a session that is not in the journal, and that has nothing to lose.
    func forget(_ session: ServiceSession) {
        guard sessions[session.reference] === session else { return }
        sessions[session.reference] = nil
        commits.forget(session)
    }

    /// The journal was removed or damaged while it was in use.
    private func saveEverything() {
        for session in sessions.values {
            commits.save(session)
            for transfer in session.transfers.values { commits.save(transfer) }
        }
    }

    private func removeRecord(of session: ServiceSession) {
        guard sessions[session.reference] === session, session.isUnused,
            removals.remove(session.reference) != nil
        else { return isKept(session) }
        sessions[session.reference] = nil
        commits.remove(session)
        checkIdle()
    }

    /// A program has come back to a session that was to be removed.
    private func isKept(_ session: ServiceSession) {
        removals.remove(session.reference)
        checkIdle()
    }

    // MARK: Idle

    /// Whether there is nothing to do, to wait for, or to write, and no program is connected.
    package var isIdle: Bool {
        guard case .running = state else { return clients.isEmpty && early.isEmpty && !isLoading }
        return clients.isEmpty && early.isEmpty && commits.isEmpty
            && sessions.values.allSatisfy { session in
                session.launchTime == nil && session.counts.atWork == 0 && session.spoolReads == 0
            }
    }

    private var isLoading: Bool { if case .loading = state { true } else { false } }

    func checkIdle() {
        guard clients.isEmpty else { return }
        let box = LoopBox(self)
        commits.after { _ in if box.value.isIdle { box.value.becameIdle() } }
    }

    /// Whether `stop` is done. Results of the disk may still arrive, but the files and the journal belong to the next
    /// service.
    var hasStopped: Bool { commits.isAbandoned }

    /// Stops all loads. Their parts and the journal stay for the next process. `done` is called when everything is
    /// written.
    package func stop(_ done: @escaping () -> Void) {
        for session in sessions.values { session.closeEnvironment() }
        commits.after { [self] _ in
            // They retain this object.
            commits.abandon()
            for session in sessions.values { session.leave() }
            (sessions, clients) = ([:], [:])
            routeWait?.end()
            (clock, conditions, routeWait) = (nil, nil, nil)
            done()
        }
    }

    // MARK: Schedule

    func enqueue(_ transfer: ServiceTransfer) {
        schedule.enqueue(transfer.reference, priority: transfer.record.description.request.priority)
        pump()
    }

    func leaveSchedule(_ transfer: ServiceTransfer) {
        schedule.remove(transfer.reference)
        pump()
    }

    /// A running transfer waits for its program, or does not any more.
    func setWaits(_ transfer: ServiceTransfer, _ waits: Bool) {
        schedule.setWaits(waits, transfer.reference)
        pump()
    }

    /// Starts what may run, in a later turn.
    private func pump() {
        if isPumpPosted { return }
        isPumpPosted = true
        let box = LoopBox(self)
        loop.post { box.value.startTransfers() }
    }

    private func startTransfers() {
        isPumpPosted = false
        while let reference = schedule.next() {
            if let transfer = transfer(reference) { transfer.handle(.place) } else { schedule.remove(reference) }
        }
    }

    func transfer(_ reference: TransferReference) -> ServiceTransfer? {
        sessions[reference.sessionReference]?.transfers[reference.task]
    }

    // MARK: Time

    /// Calls the sleeper at that time, or soon after.
    func wake(at time: Double, _ sleeper: Sleeper) {
        wakeUps.add(time, sleeper)
        if wakeUps.count > wakeUpLimit {
            wakeUps.filter { $0 == wakeUp(of: $1) }
            wakeUpLimit = wakeUps.count * 2 + 64
        }
        if wakeUps.next == time { arm() }
    }

    /// At any date, because the timer fires too when the clock is set.
    private func arm() { clock?.arm(at: wakeUps.next ?? .infinity) }

    /// Called before a transfer looks at the time. Before the spools are read, nothing may begin.
    func noticeClock() {
        guard case .running = state, !isNoticing else { return }
        let now = MachineClock(loop.clock)
        guard let change = now.change(since: machineClock) else { return }
        isNoticing = true
        machineClock = now
        // They are dates by the clock of before.
        wakeUps = WakeUps()
        for transfer in allTransfers { transfer.clockWasSet(now, by: change) }
        for session in sessions.values { session.considerLaunch() }
        isNoticing = false
        arm()
    }

    /// The time that the sleeper wants.
    private func wakeUp(of sleeper: Sleeper) -> Double? {
        switch sleeper {
        case .transfer(let reference): transfer(reference)?.wakeUp
        case .session(let reference): sessions[reference]?.launchTime
        }
    }

    private func timePassed() {
        noticeClock()
        for sleeper in wakeUps.takeDue(now) {
            switch sleeper {
            case .transfer(let reference): transfer(reference)?.timePassed()
            case .session(let reference): sessions[reference]?.considerLaunch()
            }
        }
        arm()
        checkIdle()
    }

    // MARK: The machine's state

    var isConditionMet: Bool { conditions?.allowsDiscretionary ?? true }

    /// Those of a session in the order of their creation, which is also the order in which they are queued.
    private var allTransfers: [ServiceTransfer] { sessions.values.flatMap(\.transfersInOrder) }

    private func conditionsChanged() {
        let isMet = isConditionMet
        for transfer in allTransfers where transfer.machine.mustWaitForConditions {
            transfer.handle(.conditionChanged(isMet: isMet))
        }
    }

    /// Listens to changes of the network while a transfer waits for its next attempt, and to power while one is
    /// discretionary.
    private func watch(_ transfer: ServiceTransfer) {
        if transfer.machine.phase == .waiting(.retry), routeWait == nil {
            let watch = RouteWatch.watch(for: loop)
            routeWait = watch.wait(since: watch.mark(on: loop), on: loop) { [weak self] in self?.networkChanged() }
        }
        watchConditions()
    }

    private func watchConditions() {
        if isWatchingConditions == (discretionaryCount > 0) { return }
        isWatchingConditions.toggle()
        if isWatchingConditions { conditions?.watch() } else { conditions?.unwatch() }
    }

    private func networkChanged() {
        routeWait = nil
        for transfer in allTransfers { transfer.handle(.networkChanged) }
    }

    // MARK: Progress

    /// A transfer has progress that its program does not know. All are reported together, a few times a second.
    func hasProgress(_ transfer: ServiceTransfer) {
        behind.append(transfer)
        if behind.count == 1 { loop.arm(progressTimer, at: loop.now &+ loop.limits.backgroundProgress, for: self) }
    }

    // MARK: Administrators

    /// A transfer is in another phase, or new.
    func changed(_ transfer: ServiceTransfer) {
        watch(transfer)
        notifyWatchers(.changed(listed(transfer)))
        if !transfer.isAtWork { checkIdle() }
    }

    func removed(_ transfer: ServiceTransfer) {
        watchConditions()
        notifyWatchers(.removed(transfer.reference))
    }

    private func notifyWatchers(_ notice: @autoclosure () -> ServiceNotice) {
        let watchers = clients.values.filter(\.isWatching)
        if watchers.isEmpty { return }
        let notice = notice()
        for client in watchers { client.send(notice) }
    }

    func sendList(to client: ServiceClient) {
        let all = allTransfers.map { listed($0) }.sorted {
            ($0.reference.application, $0.reference.session, $0.reference.task)
                < ($1.reference.application, $1.reference.session, $1.reference.task)
        }
        client.sendAll(Self.parts(of: all).map { .transfers($0) } + [.listed])
    }

    /// Lists that each fit in a message.
    static func parts(of all: [ListedTransfer]) -> [[ListedTransfer]] {
        var parts: [[ListedTransfer]] = []
        var size = Int.max
        for transfer in all {
            // An octet has at most six characters in JSON. The other members have less than a kilobyte.
            let texts = [
                transfer.url, transfer.taskDescription, transfer.reference.application, transfer.reference.session,
            ]
            let next = texts.reduce(1024) { $0 + 6 * ($1?.utf8.count ?? 0) }
            if next > ServiceProtocol.largestMessage - size {
                parts.append([])
                size = 1024
            }
            parts[parts.count - 1].append(transfer)
            size += next
        }
        return parts
    }

    func control(_ reference: TransferReference, _ control: TransferControl) -> Bool {
        guard let transfer = transfer(reference), !transfer.hasEnded else { return false }
        switch control {
        case .pause: transfer.handle(.pause)
        case .resume: transfer.handle(.unpause)
        case .cancel: transfer.handle(.cancel(reason: 0))
        }
        return true
    }

    /// The transfer and its history; nil if there is none.
    func described(_ reference: TransferReference) -> DescribedTransfer? {
        transfer(reference).map { DescribedTransfer(transfer: listed($0), history: $0.record.history ?? []) }
    }

    /// The number of characters of a text in a list, which is for people.
    private static let longestListed = 4096

    private func listed(_ transfer: ServiceTransfer) -> ListedTransfer {
        let record = transfer.record
        return ListedTransfer(
            reference: record.reference, url: String(record.description.request.url.prefix(Self.longestListed)),
            isUpload: record.description.kind == .upload,
            taskDescription: record.description.request.taskDescription.map { String($0.prefix(Self.longestListed)) },
            status: status(of: transfer), progress: record.progress, bytesPerSecond: transfer.bytesPerSecond)
    }

    private func status(of transfer: ServiceTransfer) -> ListedTransfer.Status {
        let record = transfer.record
        if let end = record.end { return end.outcome.code.map { .failed(code: $0) } ?? .finished }
        switch transfer.machine.phase {
        case .suspended: return .suspended
        case .queued: return .queued
        case .running where transfer.needsProgram: return .waitingForApplication
        case .running: return transfer.waitsForNetwork ? .waitingForNetwork : .running
        case .stopping, .ended: return .running
        case .waiting(.date): return .waitingUntil(record.description.request.earliestBegin ?? 0)
        case .waiting(.decision): return .waitingForApplication
        case .waiting(.condition):
            return conditions?.reason == .metered ? .waitingForUnmeteredNetwork : .waitingForPower
        case .waiting(.retry):
            return .retrying(at: transfer.machine.wakeUp ?? 0, code: transfer.machine.lastFailure)
        }
    }
}

extension TransferService: LoopTimerTarget {
    package func timerFired(_ timer: LoopTimer) {
        let reported = behind
        behind = []
        var seen: Set<TransferReference> = []
        for transfer in reported where seen.insert(transfer.reference).inserted {
            transfer.notifyProgress()
            if transfer.isKnown, !transfer.hasEnded { notifyWatchers(.changed(listed(transfer))) }
        }
    }
}
