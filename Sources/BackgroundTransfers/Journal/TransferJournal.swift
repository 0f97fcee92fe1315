internal import LoadingEvents
package import LoadingStorage

/// The journal of all sessions and transfers, a SQLite file. What was applied survives a crash and a power failure.
///
/// All work runs on the journal's thread, in the order of the calls. Changes that arrive while the disk is busy share one transaction.
/// `done` is called on that thread.
package final class TransferJournal: Sendable {
    private let thread: StorageThread<JournalFile>
    private let waiting = WaitingChanges()

    /// - Parameters:
    ///   - notify: Receives changes of the state of the file: that it was damaged, or that it cannot be written.
    ///   - lost: Called on the journal's thread if records of the file were lost while it was in use, because it was removed or was
    ///     damaged. All records must be applied again then.
    package init(
        in directory: StorageDirectory, notify: @escaping @Sendable (StorageMessage) -> Void = StorageMessage.show,
        lost: @escaping @Sendable () -> Void = {}
    ) {
        thread = StorageThread(named: "url-journal") { JournalFile(in: directory, notify: notify, lost: lost) }
    }

    /// The contents of the file. A damaged file is repaired first. A file of a newer version stays as it is.
    package func load(_ done: @escaping @Sendable (Result<JournalContents, StorageFailure>) -> Void) {
        thread.perform { done($0.load()) }
    }

    /// Makes the changes persistent, all or none. After a failure none has happened.
    ///
    /// The file of a transfer that has ended with one, and the body of an upload that was not started, are synchronized first.
    package func apply(_ changes: [JournalChange], _ done: @escaping @Sendable (StorageFailure?) -> Void) {
        guard waiting.add(changes, done) else { return }
        thread.perform { [waiting] file in
            let together = waiting.take()
            let failures = file.apply(together.map(\.changes))
            for (change, failure) in zip(together, failures) { change.done(failure) }
        }
    }

    /// Makes the bytes of a file persistent that it has now, and its name. Returns their number.
    package func synchronize(
        file: String, _ done: @escaping @Sendable (Result<Int64, StorageFailure>) -> Void
    ) {
        thread.perform { _ in
            done(
                Result { () throws(StorageFailure) in
                    let size = try SynchronizedFile.synchronize(file)
                    try SynchronizedFile.synchronizeFolder(of: file)
                    return size
                })
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
        let done: @Sendable (StorageFailure?) -> Void
    }

    private let lock = Lock()
    private var waiting: [Entry] = []

    /// Returns whether these are the first, for which `take` must be called.
    func add(_ changes: [JournalChange], _ done: @escaping @Sendable (StorageFailure?) -> Void) -> Bool {
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
