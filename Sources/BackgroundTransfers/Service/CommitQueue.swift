internal import LoadingSemantics
internal import LoadingStorage
internal import LoadingTransport

/// Changes of sessions and transfers on their way to the journal. All changes of a turn share a transaction, and so do
/// all that come while the disk is busy. Confined to the loop.
final class CommitQueue {
    private let loop: EventLoop
    private let journal: TransferJournal
    private var sessions: [SessionReference: ServiceSession] = [:]
    private var transfers: [TransferReference: ServiceTransfer] = [:]
    private var removedSessions: Set<SessionReference> = []
    private var removedTransfers: Set<TransferReference> = []
    private var waiting: [Waiting<(StorageFailure?) -> Void>] = []
    private var waitingForSuccess: [Waiting<() -> Void>] = []
    /// The sessions whose changes wait, with the number of files that they wait for.
    private var held: [SessionReference: Int] = [:]
    private var isWriting = false
    private var isPosted = false
    private let timer = LoopTimer()
    /// Why the last transaction failed.
    private(set) var failure: StorageFailure?
    /// The service has stopped. What is being written is not tried again, and nothing else is written: another service
    /// may have the journal.
    private(set) var isAbandoned = false
    /// What waits for a free descriptor.
    private var postponed: Batch?
    /// Called when records of the journal were lost. Saves all of them again.
    var recordsWereLost: () -> Void = {}
    /// Called when everything that was saved is written.
    var becameEmpty: () -> Void = {}

    /// What is called when the changes before it are written.
    private struct Waiting<Body> {
        /// Nil for those of all sessions that are not held.
        let session: SessionReference?
        let body: Body
    }

    init(_ journal: TransferJournal, on loop: EventLoop) {
        self.journal = journal
        self.loop = loop
    }

    var isEmpty: Bool { !isWriting && !hasWork }
    /// Whether it writes, or is about to. A failed transaction waits for its timer.
    var isAtWork: Bool { isWriting || isPosted }
    private var hasWork: Bool { hasChanges || !waiting.isEmpty || !waitingForSuccess.isEmpty }
    private var hasChanges: Bool {
        !sessions.isEmpty || !transfers.isEmpty || !removedSessions.isEmpty || !removedTransfers.isEmpty
    }

    /// Lets the changes of a session wait until `release`, while those of others are written.
    func hold(_ session: SessionReference) { held[session, default: 0] += 1 }

    func isHeld(_ session: SessionReference) -> Bool { held[session] != nil }

    func release(_ session: SessionReference) {
        guard let count = held[session] else { return }
        held[session] = count > 1 ? count - 1 : nil
        if count == 1 { post() }
    }

    func save(_ session: ServiceSession) {
        if isAbandoned { return }
        sessions[session.reference] = session
        removedSessions.remove(session.reference)
        post()
    }

    func save(_ transfer: ServiceTransfer) {
        if isAbandoned { return }
        transfers[transfer.reference] = transfer
        post()
    }

    func remove(_ session: ServiceSession) {
        if isAbandoned { return }
        sessions[session.reference] = nil
        removedSessions.insert(session.reference)
        post()
    }

    func remove(_ transfer: ServiceTransfer) {
        if isAbandoned { return }
        transfers[transfer.reference] = nil
        removedTransfers.insert(transfer.reference)
        post()
    }

    /// Drops the change of a session that is not in the journal, and will not be needed there.
    func forget(_ session: ServiceSession) { sessions[session.reference] = nil }

    /// Drops what could not be written: the next service does not need it, and what waits for it retains this one.
    func abandon() {
        isAbandoned = true
        loop.disarm(timer)
        (sessions, transfers, removedSessions, removedTransfers) = ([:], [:], [], [])
        (waiting, waitingForSuccess) = ([], [])
    }

    /// Calls `body` when everything that was saved before is in the journal, or could not be written.
    ///
    /// - Parameter session: Whose changes that is; nil for those of all sessions that are not held.
    func after(_ session: SessionReference? = nil, _ body: @escaping (StorageFailure?) -> Void) {
        if isAbandoned { return }
        waiting.append(Waiting(session: session, body: body))
        post()
    }

    /// Calls `body` when all changes of the session that were saved before are in the journal, however long the disk is
    /// full.
    func afterSuccess(_ session: SessionReference, _ body: @escaping () -> Void) {
        if isAbandoned { return }
        waitingForSuccess.append(Waiting(session: session, body: body))
        post()
    }

    private func post() {
        if isAtWork || isAbandoned { return }
        isPosted = true
        let box = LoopBox(self)
        loop.post { box.value.write() }
    }

    /// Writes what is there.
    private func write() {
        isPosted = false
        if isWriting { return }
        loop.disarm(timer)
        let all = Batch(
            sessions: sessions, transfers: transfers, removedSessions: removedSessions,
            removedTransfers: removedTransfers, waiting: waiting, waitingForSuccess: waitingForSuccess)
        let (ready, rest) = held.isEmpty ? (all, Batch()) : all.split { held[$0] != nil }
        (sessions, transfers, removedSessions, removedTransfers) = (
            rest.sessions, rest.transfers, rest.removedSessions, rest.removedTransfers
        )
        (waiting, waitingForSuccess) = (rest.waiting, rest.waitingForSuccess)
        write(ready)
    }

    private func write(_ batch: Batch) {
        let changes = batch.changes
        isWriting = !changes.isEmpty
        guard isWriting else {
            batch.waiting.forEach { $0.body(failure) }
            batch.waitingForSuccess.forEach { $0.body() }
            // What came while a file kept the disk busy. What is held is posted by `release`.
            if hasWork, held.isEmpty || !batch.isEmpty { post() }
            return
        }
        let box = LoopBox((self, batch, changes))
        journal.apply(changes) { [loop] failure, hasLostRecords in
            loop.post {
                let (queue, batch, written) = box.value
                queue.wrote(batch, written, failure, hasLostRecords: hasLostRecords)
            }
        }
    }

    /// - Parameter written: The records as they were. Their transfers may have changed meanwhile.
    private func wrote(
        _ batch: Batch, _ written: [JournalChange], _ failure: StorageFailure?, hasLostRecords: Bool
    ) {
        if hasLostRecords { recordsWereLost() }
        if failure?.isOfDescriptors == true, !isAbandoned {
            // Neither the disk nor a file has trouble: the callers wait.
            postponed = batch
            return loop.arm(timer, at: loop.now &+ loop.limits.descriptorRetry, for: self)
        }
        if let failure, let reference = written.transfer(needing: failure.path),
            let transfer = batch.transfers[reference]
        {
            // The trouble of one file is not that of the others.
            transfer.isLost(failure)
            return write(batch.without(removedTransfers))
        }
        isWriting = false
        self.failure = failure
        if failure != nil, !isAbandoned {
            takeBack(batch)
            loop.arm(timer, at: loop.now &+ loop.limits.journalRetry, for: self)
        } else if failure == nil {
            for session in batch.sessions.values { session.isInJournal = true }
        }
        batch.waiting.forEach { $0.body(failure) }
        if failure == nil { batch.waitingForSuccess.forEach { $0.body() } }
        // A failure is reported at once, not when it is over. What is held is posted by `release`.
        let isReported = waiting.contains { $0.session.map { held[$0] == nil } ?? true }
        if isReported || failure == nil && hasWork { post() }
        if isEmpty { becameEmpty() }
    }

    /// The changes are written with the next ones. What the callers have removed meanwhile stays removed.
    private func takeBack(_ batch: Batch) {
        sessions.merge(batch.sessions.filter { !removedSessions.contains($0.key) }) { new, _ in new }
        transfers.merge(batch.transfers.filter { !removedTransfers.contains($0.key) }) { new, _ in new }
        removedSessions.formUnion(batch.removedSessions.filter { sessions[$0] == nil })
        removedTransfers.formUnion(batch.removedTransfers.filter { transfers[$0] == nil })
        waitingForSuccess = batch.waitingForSuccess + waitingForSuccess
    }

    private struct Batch {
        var sessions: [SessionReference: ServiceSession] = [:]
        var transfers: [TransferReference: ServiceTransfer] = [:]
        var removedSessions: Set<SessionReference> = []
        var removedTransfers: Set<TransferReference> = []
        var waiting: [Waiting<(StorageFailure?) -> Void>] = []
        var waitingForSuccess: [Waiting<() -> Void>] = []

        var isEmpty: Bool {
            sessions.isEmpty && transfers.isEmpty && removedSessions.isEmpty && removedTransfers.isEmpty
                && waiting.isEmpty && waitingForSuccess.isEmpty
        }

        /// Those of sessions that are held are not ready.
        func split(_ isHeld: (SessionReference) -> Bool) -> (ready: Batch, rest: Batch) {
            (filtered(general: true) { !isHeld($0) }, filtered(general: false, isHeld))
        }

        private func filtered(general: Bool, _ isIn: (SessionReference) -> Bool) -> Batch {
            Batch(
                sessions: sessions.filter { isIn($0.key) },
                transfers: transfers.filter { isIn($0.key.sessionReference) },
                removedSessions: removedSessions.filter(isIn),
                removedTransfers: removedTransfers.filter { isIn($0.sessionReference) },
                waiting: waiting.filter { $0.session.map(isIn) ?? general },
                waitingForSuccess: waitingForSuccess.filter { $0.session.map(isIn) ?? general })
        }

        func without(_ removed: Set<TransferReference>) -> Batch {
            var rest = self
            for reference in removed { rest.transfers[reference] = nil }
            return rest
        }

        var changes: [JournalChange] {
            var changes: [JournalChange] = sessions.values.map { .session($0.record) }
            // In the order of their creation, which the journal keeps.
            changes += transfers.values.sorted { $0.reference.task < $1.reference.task }.map {
                .transfer($0.machine.record)
            }
            changes += removedTransfers.map { .transferRemoved($0) }
            changes += removedSessions.map { .sessionRemoved($0) }
            return changes
        }
    }
}

extension [JournalChange] {
    /// The transfer whose record cannot be written without that file.
    fileprivate func transfer(needing path: String) -> TransferReference? {
        for case .transfer(let record) in self where (record.promisedFile ?? record.neededBody) == path {
            return record.reference
        }
        return nil
    }
}

extension CommitQueue: LoopTimerTarget {
    func timerFired(_ timer: LoopTimer) {
        guard let batch = postponed.take() else { return write() }
        write(batch)
    }
}
