internal import Glibc
internal import LoadingConnections
internal import LoadingPipeline
internal import LoadingStorage
internal import LoadingTransport

/// A session of the service. Confined to the loop.
final class ServiceSession {
    let service: TransferService
    private(set) var record: SessionRecord
    private(set) var transfers: [Int: ServiceTransfer] = [:]
    /// Discarded transfers whose loads have not ended yet. They have a place in the schedule, and files to remove.
    private var discarded: [ServiceTransfer] = []
    /// The program that is attached.
    private(set) var owner: ServiceClient?
    private(set) var launch: LaunchPolicy
    /// Whether the program was launched, and has not attached since.
    private var isLaunched = false
    /// Whether the owner waits for the end of cancelled tasks.
    private var isInvalidating = false
    private var madeEnvironment: LoadingEnvironment?
    /// Those of loads that began before a program with another configuration was attached.
    private var earlierEnvironments: [LoadingEnvironment] = []
    /// When the program is launched, while that has to wait.
    private(set) var launchTime: Double?
    private(set) var counts = TransferCounts()
    /// Whether the journal has it, perhaps as it was before. It may have commands, and other owners.
    var isInJournal: Bool
    /// How often the spool is being read, which may have something to do.
    private(set) var spoolReads = 0
    /// Commands of the owner that wait until the ones before them are in the journal.
    private var waitingCommands: [ServiceCommand] = []

    init(_ record: SessionRecord, isInJournal: Bool, in service: TransferService) {
        self.record = record
        self.isInJournal = isInJournal
        self.service = service
        launch = LaunchPolicy(launches: record.launches, lastLaunch: record.lastLaunch)
    }

    var reference: SessionReference { record.reference }
    /// Whether its program knows challenges for client certificates.
    var givesIdentities: Bool { record.description.givesIdentities == true }

    /// The pool and the stores of the transfers that start now.
    var environment: LoadingEnvironment {
        if let madeEnvironment { return madeEnvironment }
        let new = service.makeEnvironment(record.application, record.description, service.loop)
        madeEnvironment = new
        return new
    }

    /// At the end of the service, which it retains.
    func leave() {
        for transfer in Array(transfers.values) + discarded { transfer.stopLoad() }
        closeEnvironment()
        (transfers, discarded, waitingCommands) = ([:], [], [])
        owner = nil
    }

    func closeEnvironment() {
        madeEnvironment?.pool.shutDown()
        madeEnvironment = nil
        closeEarlierEnvironments(keeping: [])
    }

    private func closeEarlierEnvironments(keeping kept: [LoadingEnvironment]) {
        let all = earlierEnvironments
        earlierEnvironments = kept
        for environment in all where !kept.contains(where: { $0 === environment }) { environment.pool.shutDown() }
    }

    /// Loads that begin from now on use another pool. The program may trust fewer servers, for example, or have another
    /// proxy.
    private func changeEnvironment() {
        guard let environment = madeEnvironment.take() else { return }
        earlierEnvironments.append(environment)
        closeUnneededEnvironments()
    }

    /// Looks at all transfers, so only at such a change and at the ends of loads that began before it.
    private func closeUnneededEnvironments() {
        if earlierEnvironments.isEmpty { return }
        let all = Array(transfers.values) + discarded
        closeEarlierEnvironments(
            keeping: earlierEnvironments.filter { environment in all.contains { $0.loads(in: environment) } })
    }

    func notify(_ notice: ServiceNotice) {
        if let owner, owner.isListed { owner.send(notice) }
    }

    func takeEndNumber() -> UInt64 {
        defer { record.nextEnd &+= 1 }
        service.commits.save(self)
        return record.nextEnd
    }

    /// In the order of their creation.
    var transfersInOrder: [ServiceTransfer] { transfers.values.sorted { $0.reference.task < $1.reference.task } }

    func restore(_ record: TransferRecord) { add(ServiceTransfer.restored(record)) }

    @discardableResult
    private func add(_ record: TransferRecord) -> ServiceTransfer {
        var record = record
        // What it changes need not be saved: the record says by which clock it was.
        _ = record.follow(service.machineClock)
        let transfer = ServiceTransfer(TransferMachine(record, isConditionMet: service.isConditionMet), of: self)
        transfers[record.description.task] = transfer
        transfer.count()
        return transfer
    }

    private func remove(_ transfer: ServiceTransfer) {
        transfers[transfer.reference.task] = nil
        transfer.count()
        service.commits.remove(transfer)
        service.removed(transfer)
    }

    func change(by change: TransferCounts) {
        counts += change
        service.discretionaryCount += change.discretionary
    }

    // MARK: The owner

    /// Whether a program is attached. One that has just ended is noticed here, so that it can attach again at once.
    var isOwned: Bool {
        guard let owner else { return false }
        return !owner.hasHungUp
    }

    /// Whether another session object was attached after that attachment of this one. A journal that could not be
    /// written does not have the attachment itself.
    func hadOther(than number: UInt64, since attachment: UInt64) -> Bool {
        let last = record.attachment ?? 0
        return last > attachment || last == attachment && record.description.owner != number
    }

    func attach(_ client: ServiceClient, _ description: SessionDescription, again attachment: UInt64?) {
        owner?.detach()
        owner = client
        // The program is not launched while the spool is read.
        launch.attached()
        // The commands of the last owner come first.
        readSpool { [self] _ in takeOver(by: client, description, again: attachment) }
    }

    /// Carries out what the last owner could not send any more, or what was sent to a service that did not live to
    /// commit it.
    ///
    /// - Parameter done: Called with whether the last owner went on before its spool was read.
    private func readSpool(_ done: @escaping (_ wasInUse: Bool) -> Void) {
        let (path, loop) = (service.folders.spool(of: record), service.loop)
        let (session, finish) = (LoopBox(self), LoopBox(done))
        spoolReads += 1
        service.keeper.run {
            // For the program, which may make the file.
            mkdir(String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]), 0o700)
            let isInUse = CommandSpool.isInUse(at: path)
            let entries = CommandSpool.entries(at: path)
            loop.post {
                session.value.spoolReads -= 1
                // The next service carries them out.
                if session.value.service.hasStopped { return }
                session.value.perform(entries)
                finish.value(isInUse)
                session.value.service.checkIdle()
            }
        }
    }

    private func takeOver(by client: ServiceClient, _ description: SessionDescription, again attachment: UInt64?) {
        guard owner === client else { return }
        let old = service.folders.spool(of: record)
        record.attachment = attachment ?? (record.attachment ?? 0) &+ 1
        var description = description
        if description.isTrustUnknown, let kind = description.delegateKind, kind == record.description.delegateKind {
            description.asksServerTrust = record.description.asksServerTrust
        }
        if !description.hasSameEnvironment(as: record.description) { changeEnvironment() }
        record.description = description
        record.lastUsed = service.now
        if !givesIdentities { transfers.values.forEach { $0.declineIdentity() } }
        service.commits.save(self)
        // The journal must not name a spool that is gone.
        service.commits.afterSuccess(reference) { [self] in
            if old != service.folders.spool(of: record) { service.keeper.remove(old) }
        }
        service.commits.after(reference) { [self] failure in
            guard owner === client else { return }
            if let failure, !isInJournal {
                owner = nil
                launch.detached()
                service.forget(self)
                return client.refuse(.journal("\(failure)"))
            }
            sendState(to: client)
        }
    }

    private func sendState(to client: ServiceClient) {
        let known = transfersInOrder
        var state = SessionState(
            attachment: record.attachment ?? 0, nextIdentifier: record.nextIdentifier, commands: record.commands,
            spool: service.folders.spool(of: record), uploads: service.folders.uploads, isLaunched: isLaunched)
        state.asksServerTrust = record.description.asksServerTrust
        var notices: [ServiceNotice] = [.attached(state)]
        isLaunched = false
        notices += known.map { .task($0.state) }
        notices.append(.listed)
        notices += known.filter(\.isEndCommitted).compactMap { transfer in transfer.record.end.map { (transfer, $0) } }
            .sorted { $0.1.order < $1.1.order }.map { .ended(task: $0.0.reference.task, $0.1) }
        notices.append(.replayed)
        client.isListed = true
        client.sendAll(notices)
    }

    func detach(_ client: ServiceClient) {
        guard owner === client else { return }
        // A full disk may have kept them out of the spool.
        takeWaitingCommands().forEach(performNext)
        owner = nil
        isInvalidating = false
        record.lastUsed = service.now
        service.commits.save(self)
        let number = record.description.owner
        // The program is not launched for what the commands in its spool have answered.
        readSpool { [self] wasInUse in
            if !wasInUse { removeOrphans(of: number) }
            // Of several detachments, the last one that is read: the spools are read in their order.
            guard owner == nil, spoolReads == 0 else { return }
            launch.detached()
            considerLaunch()
            closeIfUnused()
        }
    }

    private func removeOrphans(of number: UInt64) {
        let known = Set(transfers.values.flatMap(\.record.files))
        service.keeper.run { [folders = service.folders] in folders.removeOrphans(of: number, keeping: known) }
    }

    // MARK: Commands

    /// Goes on with the transfers after the start of the service, then with the commands that the journal does not
    /// have.
    func goOn(with spools: [SessionSpool]) {
        // The program is not launched for what the commands have answered.
        launch.attached()
        // What the journal has is older than what is in the spools.
        for transfer in transfersInOrder { transfer.handle(.timePassed) }
        perform(spools)
        launch.detached()
        considerLaunch()
    }

    /// The commands of the session's owners before the start of the service, in their order.
    private func perform(_ spools: [SessionSpool]) {
        for (index, spool) in spools.enumerated() {
            if spool.attachment > record.attachment ?? 0 {
                (record.attachment, record.description.owner) = (spool.attachment, spool.owner)
                service.commits.save(self)
            }
            // An object that has lost the session gives its commands the numbers of those of the next one.
            let next = spools[(index + 1)...].lazy.compactMap(\.entries.first?.number).first
            perform(spool.entries.filter { entry in next.map { entry.number < $0 } ?? true })
        }
        // The journal must not name a spool that is gone.
        service.commits.afterSuccess(reference) { [self] in
            for spool in spools.dropLast() { service.keeper.remove(spool.path) }
        }
    }

    /// The program's commands, in their order, each once.
    func perform(_ entries: [CommandSpool.Entry]) {
        var torn: [Int] = []
        for entry in entries where entry.number > record.commands {
            // Its program has ended, or asks again when it is attached: no other one is notified.
            if case .invalidate(let cancelsTasks) = entry.command {
                note(number: entry.number)
                if cancelsTasks { cancelAll() }
            } else {
                perform(entry.command, number: entry.number)
                if case .create(let description) = entry.command, description.mayHaveTornBody {
                    torn.append(description.task)
                }
            }
        }
        for task in torn { transfers[task]?.fail("the machine stopped before the body of the upload was on the disk") }
    }

    /// The next command that the owner has sent.
    ///
    /// While a large body is being synchronized, another one and the commands after it wait for the journal. Otherwise
    /// a program that writes bodies faster than the disk would get none of its commands into the journal.
    func perform(_ command: ServiceCommand) {
        if waitingCommands.isEmpty {
            guard service.commits.isHeld(reference), command.hasLargeBody else { return performNext(command) }
            service.commits.after(reference) { [self] _ in
                takeWaitingCommands().forEach(perform)
                confirmCommands()
            }
        }
        waitingCommands.append(command)
        if waitingCommands.count >= Self.mostWaiting { takeWaitingCommands().forEach(performNext) }
    }

    /// Bounds their memory, and the time of the turn in which they are carried out. The journal waits for the bodies of
    /// more of them then.
    private static let mostWaiting = 1000

    private func takeWaitingCommands() -> [ServiceCommand] {
        defer { waitingCommands = [] }
        return waitingCommands
    }

    private func performNext(_ command: ServiceCommand) { perform(command, number: record.commands &+ 1) }

    /// Tells the owner when the commands that were carried out are in the journal, however long the disk is full: the
    /// program's spool takes no more commands until then.
    func confirmCommands() {
        guard let owner, owner.isListed else { return }
        let number = record.commands
        service.commits.afterSuccess(reference) { [weak owner] in owner?.send(.committed(number)) }
    }

    private func note(number: UInt64) {
        record.commands = number
        service.commits.save(self)
    }

    private func perform(_ command: ServiceCommand, number: UInt64) {
        note(number: number)
        switch command {
        case .create(let description): create(description)
        case .resume(let task): transfers[task]?.handle(.resume)
        case .suspend(let task): transfers[task]?.handle(.suspend)
        case .cancel(let task): transfers[task]?.handle(.cancel(reason: nil))
        case .setPriority(let task, let priority): transfers[task]?.setPriority(priority)
        case .setTaskDescription(let task, let text):
            transfers[task]?.update { $0.description.request.taskDescription = text }
        case .setEarliestBegin(let task, let date): transfers[task]?.handle(.setEarliestBegin(date))
        case .setExpectedBytes(let task, let toSend, let toReceive):
            transfers[task]?.update {
                ($0.description.expectsToSend, $0.description.expectsToReceive) = (toSend, toReceive)
            }
        case .answer(let task, let answer): transfers[task]?.answer(answer)
        case .begin(let task, let request): begin(task, request)
        case .acknowledge(let task, let step): acknowledge(task, step)
        case .setAsksServerTrust(let asks): record.description.asksServerTrust = asks
        case .invalidate(let cancelsTasks): invalidate(cancelsTasks: cancelsTasks)
        case .handledEvents: if isOwned { launch.becameIdle() }
        // Not commands of a program, or not numbered.
        case .hello, .attach, .list, .watch, .describe, .control: break
        }
    }

    private func create(_ description: TransferDescription) {
        // The library gives increasing numbers.
        guard description.task >= record.nextIdentifier else { return }
        guard SessionState.nextIdentifiers.contains(description.task) else { return refuse(description.task) }
        record.nextIdentifier = description.task + 1
        var description = description
        description.request.folder = service.folders.files
        description.bodyBoot = nil
        let transfer = add(
            TransferRecord(
                new: description, application: record.application, session: reference.session, boot: Boot.identifier))
        if let body = description.largeBody { holdCommits(of: transfer, until: body) }
        service.commits.save(transfer)
        service.commits.after(reference) { [self] failure in
            // A task in a spool, or one whose program has ended meanwhile, goes on until it can be written.
            if let failure, isOwned, owner?.isListed == true { transfer.fail(failure) }
        }
        service.changed(transfer)
    }

    /// The body may be a clone of a large file that was just written. The changes of other sessions do not wait for the
    /// disk then. The journal synchronizes each body once more, which also finds one that was removed
    /// meanwhile.
    private func holdCommits(of transfer: ServiceTransfer, until body: String) {
        let (loop, box) = (service.loop, LoopBox((self, transfer)))
        service.commits.hold(reference)
        service.bodies.synchronize(body) { result in
            loop.post {
                let (session, transfer) = box.value
                // The kernel reports only once that it could not write a file. A load that was started reports what it
                // cannot read.
                if case .failure(let failure) = result, !failure.isOfDescriptors, transfer.record.started == nil {
                    transfer.fail(failure)
                }
                session.service.commits.release(session.reference)
            }
        }
    }

    private func begin(_ task: Int, _ request: TransferRequest?) {
        transfers[task]?.handle(.decide(request))
        // Of a task that has ended meanwhile, for example.
        if let body = request?.bodyFile, transfers[task]?.record.description.request.bodyFile != body {
            removeWhenCommitted(body)
        }
    }

    /// Ends a task that the session cannot have. If the program is not notified, it finds that the service does not
    /// have the task.
    private func refuse(_ task: Int) {
        let failure = TransferFailure(code: -997, reason: "the session has no identifiers for new tasks")
        let end = TransferEnd(
            order: takeEndNumber(), head: nil, progress: TransferProgress(), outcome: .failed(failure, nil),
            metrics: nil)
        notify(.ended(task: task, end))
    }

    /// Removes a transfer without an end that is to be delivered.
    private func discard(_ transfer: ServiceTransfer) {
        remove(transfer)
        if transfer.hasLoad { discarded.append(transfer) }
        transfer.handle(.cancel(reason: nil))
        finishInvalidation()
        closeIfUnused()
    }

    /// A load has ended, perhaps of a transfer that was discarded before.
    func loadEnded(_ transfer: ServiceTransfer, in environment: LoadingEnvironment?) {
        if !discarded.isEmpty { discarded.removeAll { $0 === transfer } }
        guard earlierEnvironments.contains(where: { $0 === environment }) else { return }
        // The load has not given its connection back yet.
        let box = LoopBox(self)
        service.loop.post { box.value.closeUnneededEnvironments() }
    }

    /// The end was delivered that far. Its files are removed when they are not needed any more (BG-18).
    private func acknowledge(_ task: Int, _ step: DeliveryStep) {
        guard let transfer = transfers[task] else { return }
        guard let end = transfer.record.end else {
            // The end that was delivered was that of a process that was killed before its journal had it.
            if step == .end { discard(transfer) }
            return
        }
        guard step > end.delivered else { return }
        if step == .end {
            remove(transfer)
        } else {
            transfer.update { $0.end?.delivered = step }
        }
        // The journal must not name a file that is gone.
        service.commits.afterSuccess(reference) { [self] in
            removeFiles(transfer.record.end?.outcome, of: transfer, step)
        }
        service.commits.after(reference) { [self] _ in
            if counts.ended == 0 { launch.becameIdle() }
            finishInvalidation()
            closeIfUnused()
        }
        considerLaunch()
    }

    func removeFiles(_ outcome: TransferEnd.Outcome?, of transfer: ServiceTransfer, _ step: DeliveryStep) {
        var paths: [String] = []
        switch outcome {
        case .file(let path): paths.append(path)
        // The library has taken it for its resume data.
        case .failed(_, .download(let part)?) where step == .end: paths.append(part.path)
        default: break
        }
        if step == .end {
            if let copy = transfer.record.description.request.bodyFile { paths.append(copy) }
            if case .download(let part)? = transfer.record.resumption { paths.append(part.path) }
        }
        for path in paths where service.folders.owns(path) { service.keeper.remove(path) }
    }

    /// The journal must not name a file that is gone.
    func removeWhenCommitted(_ path: String) {
        guard service.folders.owns(path) else { return }
        service.commits.afterSuccess(reference) { [service] in service.keeper.remove(path) }
    }

    private func invalidate(cancelsTasks: Bool) {
        isInvalidating = true
        if cancelsTasks {
            cancelAll()
        } else {
            // The tasks go on without the program (BG-20).
            service.commits.after(reference) { [self] _ in endInvalidation() }
        }
        finishInvalidation()
    }

    private func cancelAll() {
        for transfer in transfersInOrder { transfer.handle(.cancel(reason: nil)) }
    }

    /// A session whose tasks are cancelled is invalid when all ends were delivered.
    private func finishInvalidation() {
        if isInvalidating, transfers.isEmpty { endInvalidation() }
    }

    private func endInvalidation() {
        guard isInvalidating, let owner else { return }
        isInvalidating = false
        owner.send([.invalidated])
        owner.detach()
    }

    // MARK: Ends and launches

    /// The end is in the journal.
    func transferEnded(_ transfer: ServiceTransfer) {
        if let end = transfer.record.end, transfers[transfer.reference.task] != nil {
            notify(.ended(task: transfer.reference.task, end))
        }
        service.changed(transfer)
        if counts.atWork == 0 { closeEnvironment() }
        considerLaunch()
    }

    /// Launches the program when all is done, or when a transfer needs it (BG-11). Called whenever one of these may
    /// have become true.
    func considerLaunch() {
        launchTime = nil
        guard let method = record.description.launch else { return }
        let isDone = counts.ended > 0 && counts.atWork == 0
        let now = service.now
        launch.setNeeded(isDone || counts.needingProgram > 0, at: now)
        switch launch.decision(at: now) {
        case .nothing: break
        case .wait(let time):
            launchTime = time
            service.wake(at: time, .session(reference))
        case .launch:
            launch.launched(at: now)
            (record.launches, record.lastLaunch) = (launch.launches, launch.lastLaunch)
            isLaunched = true
            service.commits.save(self)
            service.launcher.launch(method, identifier: reference.session) { [weak self] in self?.launched($0) }
        }
    }

    private func launched(_ event: ProgramLauncher.Event) {
        switch event {
        case .started: launch.programStarted()
        case .ended, .failed: launch.programEnded()
        }
        considerLaunch()
    }

    /// Whether it has no program and no transfers.
    var isUnused: Bool { owner == nil && transfers.isEmpty }

    /// The record stays for a while, with the number of the last command: a program that did not get its commit
    /// sends the command again, and it must not be carried out again.
    private func closeIfUnused() {
        guard isUnused else { return }
        closeEnvironment()
        service.becameUnused()
    }
}
