internal import FoundationEssentials
internal import Glibc
internal import LoadingPipeline
package import LoadingStorage

/// The file of a `TransferJournal`. Used by one thread.
///
/// A row has the key of a session or transfer, and its record as JSON.
package final class JournalFile {
    private let file: PersistentDatabase
    private let lost: @Sendable () -> Void
    private let directory: StorageDirectory
    private var areFoldersSynchronized = false
    /// The bodies of uploads that this process has synchronized.
    private var synchronizedBodies: [TransferReference: String] = [:]

    package init(
        in directory: StorageDirectory, notify: @escaping @Sendable (StorageMessage) -> Void,
        lost: @escaping @Sendable () -> Void
    ) {
        file = PersistentDatabase(Self.schema, in: directory, notify: notify)
        self.lost = lost
        self.directory = directory
    }

    // The `application_id` is "urlb". The order of the transfers is that of their `id`.
    static let schema = DatabaseSchema(
        name: "journal", applicationID: 0x7572_6C62,
        migrations: [
            """
            CREATE TABLE sessions (id INTEGER PRIMARY KEY, seal INTEGER NOT NULL, \
            application NOT NULL, session NOT NULL, record NOT NULL);
            CREATE UNIQUE INDEX sessions_key ON sessions (application, session);
            CREATE TABLE transfers (id INTEGER PRIMARY KEY, seal INTEGER NOT NULL, \
            application NOT NULL, session NOT NULL, task NOT NULL, record NOT NULL);
            CREATE UNIQUE INDEX transfers_key ON transfers (application, session, task);
            """
        ],
        durability: .full, checksIntegrity: true)

    private var failure: StorageFailure {
        // `PersistentDatabase` has one after each failure.
        file.writeFailure ?? StorageFailure(.write, file.path, .system(EIO))
    }

    // MARK: Reading

    package func load() -> Result<JournalContents, StorageFailure> {
        guard file.exists else { return .success(JournalContents()) }
        var found = read()
        if let damaged = found, damaged.hasBroken {
            file.repair()
            found = read()
        }
        // Reported to the caller by the contents.
        _ = file.hasLostFile()
        guard let found else { return .failure(failure) }
        return .success(found.contents.completed)
    }

    private func read() -> (contents: JournalContents, hasBroken: Bool)? {
        file.read { (database) throws(StorageFailure) in
            var contents = JournalContents()
            var hasBroken = false
            let decoder = JSONDecoder()
            for (statement, isSession) in [(Self.selectSessions, true), (Self.selectTransfers, false)] {
                var last = Int64.min
                try database.rows(statement) { (row) throws(StorageFailure) in
                    // A damaged b-tree may contain a cycle.
                    guard let id = row.first?.integer, id > last else {
                        throw StorageFailure(.read, database.path, .database(Self.corrupt))
                    }
                    last = id
                    guard ChecksummedRow.isWhole(row.dropFirst()), let record = row.last?.blob else {
                        return hasBroken = true
                    }
                    // A row that is whole but cannot be decoded stays in the file.
                    if isSession {
                        if let session = try? decoder.decode(SessionRecord.self, from: record) {
                            contents.sessions.append(session)
                        }
                    } else if let transfer = try? decoder.decode(TransferRecord.self, from: record) {
                        contents.transfers.append(transfer)
                    }
                }
            }
            return (contents, hasBroken)
        }
    }

    /// SQLITE_CORRUPT.
    private static let corrupt: Int32 = 11
    private static let selectSessions = "SELECT id, seal, application, session, record FROM sessions ORDER BY id"
    private static let selectTransfers =
        "SELECT id, seal, application, session, task, record FROM transfers ORDER BY id"

    // MARK: Writing

    /// Applies groups of changes in one transaction. Returns the failure of each group.
    package func apply(_ groups: [[JournalChange]]) -> [StorageFailure?] {
        if let failure = Self.failure(of: synchronizeFolders) { return groups.map { _ in failure } }
        var failures = synchronizeFiles(of: groups)
        let changes = zip(groups, failures).flatMap { group, failure in failure == nil ? group : [] }
        if !changes.isEmpty, !write(changes) {
            let failure = failure
            failures = failures.map { $0 ?? failure }
        }
        return failures
    }

    private func write(_ changes: [JournalChange]) -> Bool {
        let encoder = JSONEncoder()
        let isDone: Void? = file.write { (database) throws(StorageFailure) in
            for change in changes { try write(change, to: database, encoder) }
        }
        if file.hasLostFile() { lost() }
        if isDone != nil {
            for case .transferRemoved(let reference) in changes { synchronizedBodies[reference] = nil }
            for case .sessionRemoved(let session) in changes {
                synchronizedBodies = synchronizedBodies.filter {
                    $0.key.application != session.application || $0.key.session != session.session
                }
            }
        }
        return isDone != nil
    }

    private func write(_ change: JournalChange, to database: Database, _ encoder: JSONEncoder) throws(StorageFailure) {
        switch change {
        case .session(let record):
            let key: [DatabaseValue] = [.text(record.application), .text(record.description.identifier)]
            try database.run(Self.storeSession, ChecksummedRow.seal(key + [content(record, encoder)]))
        case .sessionRemoved(let reference):
            let key: [DatabaseValue] = [.text(reference.application), .text(reference.session)]
            try database.run("DELETE FROM transfers WHERE application = ? AND session = ?", key)
            try database.run("DELETE FROM sessions WHERE application = ? AND session = ?", key)
        case .transfer(let record):
            try database.run(
                Self.storeTransfer, ChecksummedRow.seal(Self.key(record.reference) + [content(record, encoder)]))
        case .transferRemoved(let reference):
            try database.run(
                "DELETE FROM transfers WHERE application = ? AND session = ? AND task = ?", Self.key(reference))
        }
    }

    private func content(_ record: some Encodable, _ encoder: JSONEncoder) throws(StorageFailure) -> DatabaseValue {
        do {
            return .blob(try encoder.encode(record))
        } catch {
            // A number that JSON does not have.
            throw StorageFailure(.write, file.path, .system(EINVAL))
        }
    }

    private static func key(_ reference: TransferReference) -> [DatabaseValue] {
        [.text(reference.application), .text(reference.session), .integer(Int64(reference.task))]
    }

    private static let storeSession = """
        INSERT INTO sessions (seal, application, session, record) VALUES (?, ?, ?, ?) \
        ON CONFLICT (application, session) DO UPDATE SET seal = excluded.seal, record = excluded.record
        """
    private static let storeTransfer = """
        INSERT INTO transfers (seal, application, session, task, record) VALUES (?, ?, ?, ?, ?) \
        ON CONFLICT (application, session, task) DO UPDATE SET seal = excluded.seal, record = excluded.record
        """

    /// The folders of the journal may be new. Their names must be on the disk before the first row.
    private func synchronizeFolders() throws(StorageFailure) {
        if areFoldersSynchronized { return }
        try SynchronizedFolder.synchronizeOwn(to: try directory.make())
        areFoldersSynchronized = true
    }

    /// A file must be on the disk before the row that promises it.
    private func synchronizeFiles(of groups: [[JournalChange]]) -> [StorageFailure?] {
        var folders: [String: StorageFailure?] = [:]
        return groups.map { group in
            do throws(StorageFailure) {
                for case .transfer(let record) in group {
                    guard let path = record.promisedFile ?? unsynchronizedBody(of: record) else { continue }
                    do throws(StorageFailure) {
                        _ = try SynchronizedFile.synchronize(path)
                    } catch {
                        // The load reports a body that is gone. Its record is written in any case.
                        if record.started != nil, record.end == nil, !error.isOfDescriptors { continue }
                        throw error
                    }
                    let folder = SynchronizedFolder.parent(of: path)
                    // Once: all files had their names before this was called.
                    if folders[folder] == nil {
                        folders[folder] = .some(
                            Self.failure { () throws(StorageFailure) in
                                try SynchronizedFolder.synchronize(folder)
                            })
                    }
                    if let failure = folders[folder] ?? nil { throw failure }
                    if record.end == nil { synchronizedBodies[record.reference] = path }
                }
                return nil
            } catch {
                return error
            }
        }
    }

    /// The body of an upload, unless it was synchronized for an earlier record.
    private func unsynchronizedBody(of record: TransferRecord) -> String? {
        guard let path = record.neededBody else {
            synchronizedBodies[record.reference] = nil
            return nil
        }
        return synchronizedBodies[record.reference] == path ? nil : path
    }

    private static func failure(of work: () throws(StorageFailure) -> Void) -> StorageFailure? {
        do throws(StorageFailure) {
            try work()
            return nil
        } catch {
            return error
        }
    }
}

extension JournalContents {
    /// The contents with a session for each transfer. The row of a session may have been damaged, and its transfers
    /// must not be without one: what its identifiers and orders continue with follows from the transfers.
    var completed: JournalContents {
        var known = Set(sessions.map(\.reference))
        var missing: [SessionReference: SessionRecord] = [:]
        for transfer in transfers where !known.contains(transfer.sessionReference) {
            let reference = transfer.sessionReference
            var session =
                missing[reference]
                ?? SessionRecord(
                    application: reference.application, description: SessionDescription(identifier: reference.session))
            session.nextIdentifier = max(session.nextIdentifier, transfer.description.task &+ 1)
            session.nextEnd = max(session.nextEnd, (transfer.end?.order ?? 0) &+ 1)
            missing[reference] = session
        }
        var contents = self
        for transfer in transfers {
            guard let session = missing[transfer.sessionReference], known.insert(session.reference).inserted else {
                continue
            }
            contents.sessions.append(session)
        }
        return contents
    }
}
