internal import CLoadingSQLite

/// Small records that last: cookies, hosts, credentials. All of them are in the memory of who uses them; here is what the
/// file has of them.
///
/// Several processes may use one file: what each changes is a row, so none undoes what another has done to other rows.
/// While the file cannot be written the changes wait here, and are tried again with the next. Used by one thread at
/// a time.
package final class RecordArchive<Record: ArchivedRecord> {
    package typealias Change = RecordChange<Record>

    private let file: PersistentDatabase
    private let statements = RecordStatements<Record>()
    private let notify: @Sendable (StorageMessage) -> Void

    /// What the file does not have yet.
    private var waiting = PendingChanges<Record>()
    /// Whether some of what was removed may be left in a file.
    private var isForgetting = false
    /// Whether something was left out that is too large for a file.
    private var hasLeftOut = false
    /// Together with what tells it apart, in bytes. What is larger would keep all that is written with it out of the file.
    private static var largestRecord: Int { 16 << 20 }

    /// Which state of the file was read last.
    private var lastRead: (generation: Int, version: Int64)?

    package init(in directory: StorageDirectory, notify: @escaping @Sendable (StorageMessage) -> Void = { _ in }) {
        file = PersistentDatabase(Record.design, in: directory, notify: notify)
        self.notify = notify
    }

    deinit { flush() }

    package var path: String { file.path }
    /// False if there is surely nothing to load. Costs a system call.
    package var mayHold: Bool { file.exists || !waiting.isEmpty }
    /// How many changes the file does not have yet.
    var waitingCount: Int { waiting.count }
    /// Why nothing can be written now; nil if all is well.
    package var trouble: StorageFailure? { file.trouble }

    package var isLoadedWhole: Bool { true }

    /// What the file has, with the changes that wait: these alone if the file cannot be read now.
    package func load() -> [Record] { loadIfPossible() ?? waiting.records }

    /// Nil if the file cannot be read now.
    package func loadIfPossible() -> [Record]? {
        var found = read()
        if let damaged = found, damaged.hasBroken {
            file.repair()
            found = read()
        }
        if found == nil, file.exists { return nil }
        let records = found?.records ?? []
        if found != nil || !file.exists { waiting.known = Set(records.map(\.identity)) }
        return waiting.isEmpty ? records : records.filter { !waiting.concerns($0.identity) } + waiting.records
    }

    private func read() -> (records: [Record], hasBroken: Bool)? {
        file.read { (database) throws(StorageFailure) in
            var records: [Record] = []
            var hasBroken = false
            // Before, since what comes meanwhile is news.
            let version = try database.dataVersion()
            var last = Int64.min
            try database.rows(statements.select) { (row) throws(StorageFailure) in
                // A damaged tree may lead in circles.
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

    /// Whether there may be something in the file that was not there when it was read, and that this archive has not
    /// written. Costs a few system calls.
    package func hasExternalChanges() -> Bool { hasExternalChangesIfReadable() ?? false }

    /// Nil if the file cannot be read now, or if there is none.
    func hasExternalChangesIfReadable() -> Bool? {
        let now = file.read { (database) throws(StorageFailure) in
            (generation: file.generation, version: try database.dataVersion())
        }
        guard let now else { return nil }
        return lastRead.map { $0 != now } ?? true
    }

    /// Whether what the file had is gone with it, or may be. Told once.
    package func hasLostFile() -> Bool {
        guard file.hasLostFile() else { return false }
        waiting.known = nil
        return true
    }

    /// Writes the changes, all or none.
    ///
    /// - Returns: False if they wait.
    @discardableResult
    package func apply(_ changes: [Change]) -> Bool {
        for change in changes { note(change) }
        return flush()
    }

    /// Tries again what waits. True if nothing waits any more.
    @discardableResult
    package func flush() -> Bool {
        guard write() else { return false }
        if isForgetting { isForgetting = !file.forgetRemoved() }
        return true
    }

    private func write() -> Bool {
        if waiting.isEmpty { return true }
        // Where there is no file, there is nothing to remove from it.
        if !file.exists { waiting.forgetRemovals() }
        if waiting.isEmpty { return true }
        let records = waiting.records
        let isDone: Void? = file.write { (database) throws(StorageFailure) in
            if waiting.isEverythingRemoved { try database.run(statements.deleteAll) }
            // First, so that what is stored takes their place.
            for identity in waiting.removals { try database.run(statements.delete, Record.values(of: identity)) }
            for record in records {
                let values = Record.values(of: record.identity) + record.content
                try database.run(statements.insert, ChecksummedRow.seal(values))
            }
        }
        guard isDone != nil else { return false }
        // Another process may have stored what this has taken the place of, whether or not it was seen here.
        if waiting.isEverythingRemoved || Record.isSecret { isForgetting = true }
        waiting.settle()
        return true
    }

    /// Removes those records that are still so in the file: what another process has put in the place of one stays.
    ///
    /// - Returns: False if that cannot be done now.
    func removeUnchanged(_ records: some Collection<Record>) -> Bool {
        correct(records.map { RecordReplacement($0, new: nil) })
    }

    @discardableResult
    package func correct(_ corrections: [RecordReplacement<Record>]) -> Bool {
        guard flush() else { return false }
        // Where there is no file by now, none is made for that.
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
            isForgetting = true
            flush()
        }
        return true
    }

    private func note(_ change: Change) {
        switch change {
        case .stored(let record) where !record.isPersistent: note(.removed(record.identity))
        case .stored(let record)
        where Self.size(record.content + Record.values(of: record.identity)) > Self.largestRecord:
            leaveOut(record)
        // Nothing so large is there.
        case .removed(let identity) where Self.size(Record.values(of: identity)) > Self.largestRecord: break
        default: waiting.add(change)
        }
    }

    private func leaveOut(_ record: Record) {
        if !hasLeftOut { notify(.inMemory(StorageFailure(.write, path, .database(SQLITE_TOOBIG)))) }
        hasLeftOut = true
        note(.removed(record.identity))
    }

    private static func size(_ values: [DatabaseValue]) -> Int { values.reduce(0) { $0 + $1.size } }
}

/// The statements for one kind of records.
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
