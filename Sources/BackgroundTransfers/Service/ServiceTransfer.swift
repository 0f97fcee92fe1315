internal import LoadingPipeline
internal import LoadingSemantics
internal import LoadingStorage
internal import LoadingTransport

/// A transfer of the service: its machine, and its load while it runs. Confined to the loop.
final class ServiceTransfer {
    let session: ServiceSession
    private(set) var machine: TransferMachine
    private var load: Transfer?
    private var environment: LoadingEnvironment?
    private var rate: TransferRate?
    /// Counts the reports to the program over all attempts.
    private(set) var lastReport: UInt64 = 0
    /// The challenge that waits for the program's answer.
    private var challenge: TransferChallenge?
    private var metrics: TransferMetrics?
    private var unsyncedFrom: Int64 = 0
    private var isSyncing = false
    /// Why the disk has not taken a part of the file, which is of no use then. The kernel reports it only once: the
    /// file can be synchronized afterwards.
    private var partFailure: StorageFailure?
    /// The end whose file waits for a free descriptor.
    private var postponedEnd: TransferEnd.Outcome?
    private let endTimer = LoopTimer()
    private var hasCheckpoint = false
    /// Whether the present progress was not reported to the program.
    private var isBehind = false
    /// The time for which the service wakes the transfer up.
    private(set) var wakeUp: Double?
    /// As the session counts it.
    private var counted = TransferCounts()

    init(_ machine: TransferMachine, of session: ServiceSession) {
        self.machine = machine
        self.session = session
        unsyncedFrom = machine.record.syncedBytes
        isEndCommitted = machine.record.end != nil
    }

    private var service: TransferService { session.service }
    var record: TransferRecord { machine.record }
    var reference: TransferReference { record.reference }
    var isAtWork: Bool {
        switch machine.phase {
        case .suspended: false
        // A complete file is still being written to disk.
        case .ended: record.end == nil
        case .waiting, .queued, .running, .stopping: true
        }
    }
    var hasEnded: Bool { record.end != nil }
    var hasLoad: Bool { load != nil }
    func loads(in environment: LoadingEnvironment) -> Bool { self.environment === environment }
    /// Whether the end may be delivered: an end that the journal does not have would be delivered again by another
    /// process.
    private(set) var isEndCommitted: Bool
    /// Nil while no load runs.
    var bytesPerSecond: Double? { rate?.bytesPerSecond(at: service.loop.now) }
    /// Whether the load runs, but waits for a route to the server.
    private(set) var waitsForNetwork = false
    /// Whether it waits for the program.
    var needsProgram: Bool { challenge != nil || machine.phase == .waiting(.decision) }

    var state: TransferState {
        TransferState(
            description: record.description, isSuspended: record.isSuspended, progress: record.progress,
            head: record.head, lastReport: lastReport, challenge: challenge,
            isDue: machine.phase == .waiting(.decision))
    }

    // MARK: Counts

    private var counts: TransferCounts {
        TransferCounts(
            atWork: isAtWork ? 1 : 0, ended: hasEnded ? 1 : 0, needingProgram: needsProgram ? 1 : 0,
            discretionary: isAtWork && machine.mustWaitForConditions ? 1 : 0)
    }

    /// Whether the session has it. A discarded transfer is being removed from the journal, and is only stopped.
    var isKnown: Bool { session.transfers[reference.task] === self }

    /// Brings the counts of the session up to date, after each change of what is counted, and when the session has it
    /// no more.
    func count() {
        let new = isKnown ? counts : TransferCounts()
        if new == counted { return }
        let change = new - counted
        counted = new
        session.change(by: change)
    }

    // MARK: Inputs

    func handle(_ input: TransferMachine.Input) {
        service.noticeClock()
        let before = machine.phase
        for action in machine.handle(input, now: service.now) { perform(action) }
        if machine.wakeUp != wakeUp {
            wakeUp = machine.wakeUp
            if let wakeUp { service.wake(at: wakeUp, .transfer(reference)) }
        }
        count()
        guard machine.phase != before, isKnown else { return }
        service.changed(self)
        switch machine.phase {
        // The delegate decides, or the others have ended. An end is considered when it is in the journal.
        case .waiting(.decision), .suspended: session.considerLaunch()
        default: break
        }
    }

    func timePassed() {
        // The machine may want the same time again.
        wakeUp = nil
        handle(.timePassed)
    }

    func clockWasSet(_ clock: MachineClock, by change: Double) {
        wakeUp = nil
        handle(.clockSet(clock, by: change))
    }

    /// Changes what does not affect the transfer's life.
    func update(_ change: (inout TransferRecord) -> Void) {
        machine.update(change)
        save()
    }

    /// The journal does not get a discarded transfer back, whose load is still being stopped.
    private func save() {
        if isKnown { service.commits.save(self) }
    }

    func setPriority(_ priority: Float) {
        update { $0.description.request.priority = priority }
        service.schedule.setPriority(priority, of: reference)
        load?.setPriority(priority)
    }

    func answer(_ answer: TransferAnswer) {
        // It may be for a challenge of an earlier process of the service, with other certificates.
        guard let challenge, answer.challenge == challenge.identifier else { return }
        self.challenge = nil
        count()
        service.setWaits(self, false)
        load?.answer(answer)
    }

    /// No program is asked for its certificate any more: the handshake goes on without one (AUTH-31).
    func declineIdentity() {
        guard let challenge, challenge.scheme == .clientCertificate else { return }
        answer(TransferAnswer(to: challenge.identifier, decision: .defaultHandling))
    }

    // MARK: Actions

    private func perform(_ action: TransferMachine.Action) {
        switch action {
        case .save: save()
        case .enqueue: service.enqueue(self)
        case .leaveSchedule: service.leaveSchedule(self)
        case .start(let request): start(request)
        case .stop: load?.cancel()
        case .restarted(let progress): session.notify(.restarted(task: reference.task, progress))
        case .due: session.notify(.due(task: reference.task))
        case .removeFile(let path): session.removeFiles(.file(path), of: self, .file)
        case .dropFile(let path): session.removeWhenCommitted(path)
        case .end(let outcome): end(outcome)
        }
    }

    private func start(_ request: TransferRequest) {
        hasCheckpoint = false
        partFailure = nil
        metrics = nil
        var request = request
        let description = session.record.description
        (request.asksServerTrust, request.asksForIdentity) = (description.asksServerTrust, description.givesIdentities)
        let environment = session.environment
        let load = Transfer(request, in: environment) { [weak self] report in self?.receive(report) }
        (self.load, self.environment) = (load, environment)
        rate = nil
        load.start()
    }

    /// At the end of the service, which takes no note of it: the next one goes on.
    func stopLoad() { load?.cancel() }

    private func end(_ outcome: TransferEnd.Outcome) {
        guard case .file(let path) = outcome else { return ended(with: outcome) }
        // An end that was delivered must survive a power cut, with its file. A large file does not hold up the
        // journal here.
        let (box, loop) = (LoopBox(self), service.loop)
        service.keeper.synchronize(path) { result in
            loop.post { box.value.synchronized(outcome, result) }
        }
    }

    private func synchronized(_ outcome: TransferEnd.Outcome, _ result: Result<Int64, StorageFailure>) {
        // The file belongs to the next service.
        if service.hasStopped { return }
        let written: Result<Int64, StorageFailure> = if let partFailure { .failure(partFailure) } else { result }
        switch written {
        case .success: ended(with: outcome)
        case .failure(let failure) where failure.isOfDescriptors:
            postponedEnd = outcome
            service.loop.arm(endTimer, at: service.loop.now &+ service.loop.limits.descriptorRetry, for: self)
        case .failure(let failure):
            session.removeFiles(outcome, of: self, .file)
            ended(with: .failed(Self.failure(failure), nil))
        }
    }

    private static func failure(_ failure: StorageFailure) -> TransferFailure { Self.failure("\(failure)") }

    private static func failure(_ reason: String) -> TransferFailure { TransferFailure(code: -3003, reason: reason) }

    private func ended(with outcome: TransferEnd.Outcome) {
        // The session has no transfers then, and the files belong to the next service.
        if service.hasStopped { return }
        guard isKnown else { return session.removeFiles(outcome, of: self, .end) }
        let order = session.takeEndNumber()
        machine.update {
            $0.end = TransferEnd(
                order: order, head: $0.head, progress: $0.progress, outcome: outcome, metrics: metrics)
        }
        count()
        service.commits.save(self)
        service.commits.after(reference.sessionReference) { [self] _ in
            isEndCommitted = true
            session.transferEnded(self)
        }
    }

    /// A file that the record needed when it was to be written is gone, or cannot be written to disk.
    func isLost(_ failure: StorageFailure) {
        if record.promisedFile == failure.path {
            session.removeFiles(record.end?.outcome, of: self, .file)
            machine.update { $0.end?.outcome = .failed(Self.failure(failure), nil) }
        } else if record.neededBody == failure.path {
            fail(failure)
        }
    }

    /// Ends it, because it cannot be kept. Its program gets the end as any other, now or later.
    func fail(_ failure: StorageFailure) { fail("\(failure)") }

    func fail(_ reason: String) { handle(.fail(Self.failure(reason))) }

    // MARK: Reports of the load

    private func receive(_ report: TransferReport) {
        setWaitsForNetwork(report.event == .waitingForConnectivity)
        switch report.event {
        case .waitingForConnectivity: break
        case .upgraded, .redirected: notify(report.event)
        case .challenge(let challenge):
            self.challenge = challenge
            count()
            if !session.givesIdentities, challenge.scheme == .clientCertificate {
                // Since the load began, a program was attached that does not know such challenges.
                return service.loop.runLater { [weak self] in self?.declineIdentity() }
            }
            notify(report.event)
            // It may wait for days, and others need the place.
            service.setWaits(self, true)
            session.considerLaunch()
        case .challengeWithdrawn:
            challenge = nil
            count()
            service.setWaits(self, false)
            notify(report.event)
        case .response(let head, let expected, let offset):
            var progress = record.progress
            (progress.received, progress.toReceive) = (offset, expected)
            handle(.response(head, progress))
            notify(report.event)
        case .progress(let progress):
            noteRate(progress)
            handle(.progress(progress))
            if !isBehind { service.hasProgress(self) }
            isBehind = true
            keepPart(progress.received)
        case .metrics(let metrics): self.metrics = metrics
        case .finished(let file):
            ended()
            handle(.finished(file: file))
        case .failed(let failure, let resumption):
            ended()
            if let partFailure {
                if case .download(let part)? = resumption { removePart(part.path) }
                // Unless it was stopped before.
                let reason = machine.phase == .running ? Self.failure(partFailure) : failure
                return handle(.failed(reason, nil, jitter: 0))
            }
            handle(.failed(failure, resumption, jitter: .random(in: 0..<1)))
        }
    }

    private func noteRate(_ progress: TransferProgress) {
        let (total, now) = (progress.received + progress.sent, service.loop.now)
        if rate == nil { rate = TransferRate(total, at: now) }
        rate?.note(total, at: now)
    }

    private func setWaitsForNetwork(_ waits: Bool) {
        if waits == waitsForNetwork { return }
        waitsForNetwork = waits
        if isKnown { service.changed(self) }
    }

    private func ended() {
        notifyProgress()
        let loadEnvironment = environment
        (load, environment, rate) = (nil, nil, nil)
        // The next attempt gets a challenge of its own, also if it is asked the same.
        if challenge != nil, !hasEnded { notify(.challengeWithdrawn) }
        challenge = nil
        count()
        session.loadEnded(self, in: loadEnvironment)
    }

    private func notify(_ event: TransferReport.Event) {
        lastReport += 1
        session.notify(.report(task: reference.task, TransferReport(number: lastReport, event: event)))
    }

    /// Called by the service a few times a second.
    func notifyProgress() {
        guard isBehind else { return }
        isBehind = false
        if !hasEnded { notify(.progress(record.progress)) }
    }

    /// Notes in the journal what would let another process go on, and how much of it is certain to be on disk.
    private func keepPart(_ received: Int64) {
        if !hasCheckpoint, let resumption = load?.resumptionUnderWay {
            hasCheckpoint = true
            machine.update { $0.boot = Boot.identifier }
            unsyncedFrom = received
            handle(.checkpoint(resumption))
        }
        guard hasCheckpoint, !isSyncing, received - unsyncedFrom >= service.syncInterval,
            case .download(let part)? = record.resumption
        else { return }
        isSyncing = true
        let (box, loop) = (LoopBox(self), service.loop)
        service.keeper.synchronize(part.path) { result in
            loop.post { box.value.synced(result, of: part.path) }
        }
    }

    func synced(_ result: Result<Int64, StorageFailure>, of path: String) {
        isSyncing = false
        guard !hasEnded, case .download(let part)? = record.resumption, part.path == path else { return }
        switch result {
        case .success(let length):
            unsyncedFrom = length
            update { $0.syncedBytes = length }
        case .failure(let failure) where failure.action == .write && failure.path == path: losePart(path, failure)
        // Nothing was written, for want of a descriptor for example.
        case .failure: break
        }
    }

    private func losePart(_ path: String, _ failure: StorageFailure) {
        partFailure = failure
        // Another process must not go on with it.
        update { $0.resumption = nil }
        if let load {
            load.cancel()
        } else if machine.phase != .ended {
            // The next attempt begins anew.
            removePart(path)
        }
    }

    private func removePart(_ path: String) {
        if service.folders.owns(path) { service.keeper.remove(path) }
    }

    // MARK: After a start of the service

    /// Counts what an earlier process has left of the file.
    ///
    /// - Parameter boot: The id of the present boot.
    static func restored(_ record: TransferRecord, boot: String = Boot.identifier) -> TransferRecord {
        var record = record
        guard record.end == nil, case .download(let part)? = record.resumption else { return record }
        let length = FileKeeper.length(of: part.path).map {
            Boot.areSame(record.boot, boot) ? $0 : min($0, record.syncedBytes)
        }
        record.resumption = length.flatMap { part.counted(byFileOf: $0) }.map { .download($0) }
        record.progress.received = length ?? 0
        return record
    }
}

extension ServiceTransfer: LoopTimerTarget {
    func timerFired(_ timer: LoopTimer) {
        // A service that has stopped does not synchronize: the next one does.
        guard !service.hasStopped, let outcome = postponedEnd.take() else { return }
        end(outcome)
    }
}
