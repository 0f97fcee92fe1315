internal import CLoadingSQLite

/// A file of small records: cookies, HSTS hosts, credentials. The users of the records hold them in memory.
///
/// Several processes may use one file. Each change affects one row, so processes do not overwrite each other's changes
/// to other rows. While the file cannot be written, changes wait in memory, and are retried with the next one. Used by
/// one thread at a time.
package final class RecordArchive<Record: ArchivedRecord> {
    package typealias Change = RecordChange<Record>

    private let file: PersistentDatabase
    private let statements = RecordStatements<Record>()
    private let notify: @Sendable (StorageMessage) -> Void

    /// Changes that are not in the file yet.
    private var pending = PendingChanges<Record>()
    /// Whether traces of removed records may remain in the files.
    private var mustPurge = false
    /// Whether a record was too large for the file.
    private var hasSkipped = false
    /// In bytes, including the identity. A larger record would make its whole transaction fail.
    private static var largestRecord: Int { 16 << 20 }

    /// The state of the file at the last read.
    private var lastRead: (generation: Int, version: Int64)?

    package init(in directory: StorageDirectory, notify: @escaping @Sendable (StorageMessage) -> Void = { _ in }) {
        file = PersistentDatabase(Record.schema, in: directory, notify: notify)
        self.notify = notify
    }

    deinit { flush() }

    package var path: String { file.path }
    /// False if there is certainly no record. Costs one system call.
    package var mayHold: Bool { file.exists || !pending.isEmpty }
    /// The number of changes that are not in the file yet.
    var pendingCount: Int { pending.count }
    /// Why the file cannot be written; nil if it can.
    package var writeFailure: StorageFailure? { file.writeFailure }

    package var isLoadedCompletely: Bool { true }

    /// The records of the file, updated by the pending changes. If the file cannot be read, only the pending records.
    package func load() -> [Record] { loadIfPossible() ?? pending.records }

    /// Returns nil if the file cannot be read.
    package func loadIfPossible() -> [Record]? {
        var found = read()
        if let damaged = found, damaged.hasBroken {
            file.repair()
            found = read()
        }
        if found == nil, file.exists { return nil }
        let records = found?.records ?? []
        if found != nil || !file.exists { pending.known = Set(records.map(\.identity)) }
        return pending.isEmpty ? records : records.filter { !pending.affects($0.identity) } + pending.records
    }

    private func read() -> (records: [Record], hasBroken: Bool)? {
        file.read { (database) throws(StorageFailure) in
            var records: [Record] = []
            var hasBroken = false
            // Before reading, because later changes must be detected.
            let version = try database.dataVersion()
            var last = Int64.min
            try database.rows(statements.select) { (row) throws(StorageFailure) in
                // A damaged b-tree may contain a cycle.
                guard let id = row.first?.integer, id > last else {
                    throw StorageFailure(.read, database.path, .database(SQLITE_CORRUPT))
                }
                last = id
                guard ChecksummedRow.isWhole(row.dropFirst()) else { return hasBroken = true }
                if let record = Record(row: Array(row.dropFirst(2))) { records.append(record) }
            }
            lastRead = (file.generation, version)
            return (records, hasBroken)
        }
    }

    /// Whether the file was changed by others since it was read. Costs a few system calls.
    ///
    /// First retries what another process has prevented by using the file at that moment: a removed password must not
    /// stay in it until something else is stored.
    package func hasExternalChanges() -> Bool {
        if mustPurge || !pending.isEmpty && file.writeFailure?.isBusy == true { flush() }
        return hasExternalChangesIfReadable() ?? false
    }

    /// Returns nil if the file cannot be read or does not exist.
    func hasExternalChangesIfReadable() -> Bool? {
        let now = file.read { (database) throws(StorageFailure) in
            (generation: file.generation, version: try database.dataVersion())
        }
        guard let now else { return nil }
        return lastRead.map { $0 != now } ?? true
    }

    /// Whether the file was deleted or replaced, so that records may be lost. Reports each loss once.
    package func hasLostFile() -> Bool {
        guard file.hasLostFile() else { return false }
        pending.known = nil
        return true
    }

    /// Writes the changes in one transaction.
    ///
    /// - Returns: False if they wait in memory.
    @discardableResult
    package func apply(_ changes: [Change]) -> Bool {
        for change in changes { note(change) }
        return flush()
    }

    /// Retries pending changes. Returns true if none wait any more.
    @discardableResult
    package func flush() -> Bool {
        guard write() else { return false }
        if mustPurge { mustPurge = !file.purgeRemoved() }
        return true
    }

    private func write() -> Bool {
        if pending.isEmpty { return true }
        // Without a file there is nothing to remove.
        if !file.exists { pending.dropRemovals() }
        if pending.isEmpty { return true }
        let records = pending.records
        let isDone: Void? = file.write { (database) throws(StorageFailure) in
            if pending.isEverythingRemoved { try database.run(statements.deleteAll) }
            // Removals come first, so that stored records can replace removed ones.
            for identity in pending.removals { try database.run(statements.delete, Record.values(of: identity)) }
            for record in records {
                let values = Record.values(of: record.identity) + record.content
                try database.run(statements.insert, ChecksummedRow.seal(values))
            }
        }
        guard isDone != nil else { return false }
        // Even if this archive has not seen them, replaced records of other processes may have left traces.
        if pending.isEverythingRemoved || Record.isSecret { mustPurge = true }
        pending.markWritten()
        return true
    }

    /// Removes those records that are unchanged in the file. Records that another process has replaced stay.
    ///
    /// - Returns: False if the file cannot be written.
    func removeUnchanged(_ records: some Collection<Record>) -> Bool {
        correct(records.map { RecordReplacement($0, new: nil) })
    }

    @discardableResult
    package func correct(_ corrections: [RecordReplacement<Record>]) -> Bool {
        guard flush() else { return false }
        // Does not create a file.
        if !file.exists { return true }
        let isDone: Void? = file.write { (database) throws(StorageFailure) in
            for correction in corrections {
                let identity = Record.values(of: correction.old.identity)
                let row = ChecksummedRow.seal(identity + correction.old.content)
                let unchanged = Array(row.prefix(1 + identity.count))
                if let new = correction.new, new.isPersistent {
                    let seal = ChecksummedRow.seal(identity + new.content).prefix(1)
                    try database.run(statements.updateUnchanged, Array(seal) + new.content + unchanged)
                } else {
                    try database.run(statements.deleteUnchanged, unchanged)
                }
            }
        }
        guard isDone != nil else { return false }
        if Record.isSecret {
            mustPurge = true
            flush()
        }
        return true
    }

    private func note(_ change: Change) {
        switch change {
        case .stored(let record) where !record.isPersistent: note(.removed(record.identity))
        case .stored(let record)
        where Self.size(record.content + Record.values(of: record.identity)) > Self.largestRecord:
            skip(record)
        // Records of that size are never stored.
        case .removed(let identity) where Self.size(Record.values(of: identity)) > Self.largestRecord: break
        default: pending.add(change)
        }
    }

    private func skip(_ record: Record) {
        if !hasSkipped { notify(.inMemory(StorageFailure(.write, path, .database(SQLITE_TOOBIG)))) }
        hasSkipped = true
        note(.removed(record.identity))
    }

    private static func size(_ values: [DatabaseValue]) -> Int { values.reduce(0) { $0 + $1.size } }
}

/// The SQL statements for one type of record.
private struct RecordStatements<Record: ArchivedRecord>: Sendable {
    let select: String
    let insert: String
    let delete: String
    let deleteUnchanged: String
    let updateUnchanged: String
    let deleteAll = "DELETE FROM \(Record.table)"

    init() {
        let columns = (["seal"] + Record.identityColumns + Record.contentColumns)
        let list = columns.joined(separator: ", ")
        let updates = (["seal"] + Record.contentColumns).map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
        let marks = columns.map { _ in "?" }.joined(separator: ", ")
        select = "SELECT id, \(list) FROM \(Record.table) ORDER BY id"
        insert = """
            INSERT INTO \(Record.table) (\(list)) VALUES (\(marks)) \
            ON CONFLICT (\(Record.identityColumns.joined(separator: ", "))) DO UPDATE SET \(updates)
            """
        let conditions = Record.identityColumns.map { $0 + " = ?" }.joined(separator: " AND ")
        delete = "DELETE FROM \(Record.table) WHERE \(conditions)"
        deleteUnchanged = "DELETE FROM \(Record.table) WHERE seal = ? AND \(conditions)"
        let newValues = (["seal"] + Record.contentColumns).map { $0 + " = ?" }.joined(separator: ", ")
        updateUnchanged = "UPDATE \(Record.table) SET \(newValues) WHERE seal = ? AND \(conditions)"
    }
}
