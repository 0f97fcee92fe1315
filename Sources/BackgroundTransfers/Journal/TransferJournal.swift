internal import LoadingEvents
package import LoadingStorage
internal import Synchronization

/// The journal of all sessions and transfers, a SQLite file. What was applied survives a crash and a power failure.
///
/// All work runs on the journal's thread, in the order of the calls. Changes that arrive while the disk is busy share
/// one transaction. `done` is called on that thread.
package final class TransferJournal: Sendable {
    private let thread: StorageThread<State>
    private let waiting = WaitingChanges()

    /// Confined to the journal's thread.
    private final class State {
        let file: JournalFile
        private let loss: Loss

        /// Set by the file while it works.
        private final class Loss: Sendable {
            let isNoticed = Atomic(false)
        }

        init(in directory: StorageDirectory, notify: @escaping @Sendable (StorageMessage) -> Void) {
            let loss = Loss()
            self.loss = loss
            file = JournalFile(in: directory, notify: notify) { loss.isNoticed.store(true, ordering: .relaxed) }
        }

        /// Whether the file was lost since the last call.
        func takeLoss() -> Bool { loss.isNoticed.exchange(false, ordering: .relaxed) }
    }

    /// - Parameter notify: Receives changes of the state of the file: that it was damaged, or that it cannot be
    ///   written.
    package init(
        in directory: StorageDirectory, notify: @escaping @Sendable (StorageMessage) -> Void = StorageMessage.show
    ) {
        thread = StorageThread(named: "url-journal") { State(in: directory, notify: notify) }
    }

    /// The contents of the file. A damaged file is repaired first. A file of a newer version stays as it is.
    package func load(_ done: @escaping @Sendable (Result<JournalContents, StorageFailure>) -> Void) {
        thread.perform { done($0.file.load()) }
    }

    /// Makes the changes persistent, all or none. After a failure none has happened.
    ///
    /// The file of a transfer that has ended with one, and the body of an upload that was not started, are synchronized
    /// first.
    ///
    /// - Parameter done: Receives the failure, and whether records of the file were lost while it was in use, because
    ///   it was removed or damaged. All records must be applied again then.
    package func apply(
        _ changes: [JournalChange], _ done: @escaping @Sendable (StorageFailure?, _ hasLostRecords: Bool) -> Void
    ) {
        guard waiting.add(changes, done) else { return }
        thread.perform { [waiting] state in
            let together = waiting.take()
            let failures = state.file.apply(together.map(\.changes))
            let hasLostRecords = state.takeLoss()
            for (change, failure) in zip(together, failures) { change.done(failure, hasLostRecords) }
        }
    }

    /// Calls back when all previous work is done.
    package func flush(_ done: @escaping @Sendable () -> Void) { thread.flush(done) }
}

/// Changes that wait for the disk.
private final class WaitingChanges: @unchecked Sendable {
    // Sendable because `waiting` is guarded by `lock`.

    struct Entry: Sendable {
        let changes: [JournalChange]
        let done: @Sendable (StorageFailure?, Bool) -> Void
    }

    private let lock = Lock()
    private var waiting: [Entry] = []

    /// Returns whether these are the first, for which `take` must be called.
    func add(_ changes: [JournalChange], _ done: @escaping @Sendable (StorageFailure?, Bool) -> Void) -> Bool {
        lock.withLock {
            waiting.append(Entry(changes: changes, done: done))
            return waiting.count == 1
        }
    }

    func take() -> [Entry] {
        lock.withLock {
            defer { waiting = [] }
            return waiting
        }
    }
}
