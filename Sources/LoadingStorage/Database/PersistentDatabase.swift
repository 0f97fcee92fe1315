internal import CLoadingLinux
internal import CLoadingSQLite
internal import Glibc
internal import LoadingSemantics

/// The file of a store. Opened on demand, and repaired if it is damaged.
///
/// Operations return nil if they fail. The store then keeps its changes in memory, and retries with the next write.
/// Used by one thread at a time.
package final class PersistentDatabase {
    private let directory: StorageDirectory
    private let schema: DatabaseSchema
    private let notify: @Sendable (StorageMessage) -> Void

    private var database: Database?
    private var isReadOnly = false
    /// The file that was opened last, or could not be opened.
    private var identity: FileIdentity?
    /// The file was written by a newer release, and is not touched.
    private var isGivenUp = false
    /// The file that was used last, even if it is closed. Nil after its loss was noticed.
    private var used: FileIdentity?
    /// Whether a loss was noticed but not reported.
    private var isLost = false

    /// Why the file cannot be written.
    package private(set) var writeFailure: StorageFailure?
    /// Changes with each opening of the file, after which it may be another one.
    private(set) var generation = 0

    private static let largestCheckedFile: Int64 = 16 << 20

    package init(
        _ schema: DatabaseSchema, in directory: StorageDirectory, notify: @escaping @Sendable (StorageMessage) -> Void
    ) {
        self.schema = schema
        self.directory = directory
        self.notify = notify
    }

    package var path: String { directory.path + "/" + schema.name }
    package var exists: Bool { access(path, F_OK) == 0 || cll_errno() != ENOENT }

    /// Returns nil also if there is no file.
    package func read<Result>(_ work: (Database) throws(StorageFailure) -> Result) -> Result? {
        if database == nil, !exists { return nil }
        return attempt(.read, work)
    }

    /// Runs `work` in one transaction.
    package func write<Result>(_ work: (Database) throws(StorageFailure) -> Result) -> Result? {
        attempt(.write) { (database) throws(StorageFailure) in
            try database.transaction { () throws(StorageFailure) in try work(database) }
        }
    }

    /// Whether the file that was in use was deleted or replaced, for example by a repair, which may lose records.
    /// Reports each loss once.
    package func hasLostFile() -> Bool {
        detectLoss()
        defer { isLost = false }
        return isLost
    }

    private func detectLoss() {
        guard let used else { return }
        if let database, !database.hasMoved { return }
        if database == nil {
            do throws(StorageFailure) {
                if try PathHandle(path).identity == used { return }
            } catch {
                // A file that cannot be accessed may still exist.
                if error.reason != .system(ENOENT) { return }
            }
        }
        database = nil
        self.used = nil
        isLost = true
    }

    /// Rebuilds the file from the undamaged rows.
    package func repair() { repair(isForeign: false) }

    /// Removes all traces of deleted records from the files.
    ///
    /// - Returns: False if some may remain, for example while another process repairs.
    @discardableResult
    package func purgeRemoved() -> Bool {
        if !exists { return DatabaseRepair.removeLeftovers(of: path) }
        let isDone: Void? = attempt(.write) { (database) throws(StorageFailure) in
            try database.run("PRAGMA incremental_vacuum")
        }
        return DatabaseRepair.removeLeftovers(of: path) && isDone != nil
    }

    private func attempt<Result>(
        _ mode: Database.Mode, _ work: (Database) throws(StorageFailure) -> Result
    ) -> Result? {
        var isRepaired = false
        var mayReopen = database != nil
        while true {
            do throws(StorageFailure) {
                let result = try work(opened(mode))
                // A write that changes nothing succeeds on a read-only file too.
                if mode == .write, writeFailure != nil, !isReadOnly {
                    writeFailure = nil
                    database?.setTimeout(TimeLimits.standard.databaseLock)
                    notify(.writableAgain(path: path))
                }
                return result
            } catch {
                // Another program has switched to WAL mode, whose log is merged when the file is opened.
                if error.isOfSideFile, mayReopen {
                    mayReopen = false
                    database = nil
                    continue
                }
                if error.remedy == .repair, !isRepaired {
                    isRepaired = true
                    if repair(isForeign: error.reason == .foreign) { continue }
                }
                failed(error)
                return nil
            }
        }
    }

    private func failed(_ failure: StorageFailure) {
        // The connection stays usable after a full disk or a lock of another process.
        if case .database(let code) = failure.reason, [SQLITE_FULL, SQLITE_BUSY].contains(code & 0xFF) {
            database?.setTimeout(TimeLimits.standard.databaseLockInTrouble)
        } else {
            database = nil
        }
        var isNew = writeFailure == nil
        if case .newer = failure.reason, !isGivenUp {
            isGivenUp = true
            // This reason replaces any earlier one, because it is permanent.
            isNew = true
        }
        if isNew {
            writeFailure = failure
            notify(.inMemory(failure))
        }
    }

    // MARK: Opening

    private func opened(_ mode: Database.Mode) throws(StorageFailure) -> Database {
        if isGivenUp, let writeFailure { throw writeFailure }
        detectLoss()
        if let database, mode != .write || !isReadOnly { return database }
        database = nil
        do throws(StorageFailure) {
            // Before an empty file is created.
            try Database.library(for: path)
            let path = try directory.make() + "/" + schema.name
            identity = (try? PathHandle(path))?.identity
            try StorageDirectory.claimFile(path)
            for end in DatabaseRepair.sideFiles { try StorageDirectory.claimSideFile(path + end) }
            identity = try PathHandle(path).identity
            let new = try Database(
                path,
                timeout: writeFailure == nil
                    ? TimeLimits.standard.databaseLock : TimeLimits.standard.databaseLockInTrouble)
            try prepare(new)
            return keep(new, isReadOnly: new.isReadOnly)
        } catch {
            guard mode != .write, error.isReadOnly, let immutable = readOnly() else { throw error }
            return keep(immutable, isReadOnly: true)
        }
    }

    private func keep(_ new: Database, isReadOnly: Bool) -> Database {
        self.isReadOnly = isReadOnly
        generation += 1
        database = new
        // The file may have been created after the check.
        if let used, used != identity { isLost = true }
        used = identity
        return new
    }

    /// Opens a file that can be read but not written.
    private func readOnly() -> Database? {
        for mode in [Database.Mode.read, .immutable] {
            if let database = try? Database(path, mode), let version = try? version(of: database),
                version == schema.version
            {
                return database
            }
        }
        return nil
    }

    /// The version of the schema; 0 for an empty file.
    private func version(of database: Database) throws(StorageFailure) -> Int64 {
        // In one snapshot, because another process may be creating the schema.
        try database.snapshot { () throws(StorageFailure) in try versionNow(of: database) }
    }

    private func versionNow(of database: Database) throws(StorageFailure) -> Int64 {
        let version = try database.value("PRAGMA user_version").integer ?? 0
        let owner = try database.value("PRAGMA application_id").integer ?? 0
        if owner == Int64(schema.applicationID) {
            if version < 1 { throw StorageFailure(.open, path, .foreign) }
            if version > schema.version { throw StorageFailure(.open, path, .newer(version: version)) }
            return version
        }
        let tables = try database.value("SELECT count(*) FROM sqlite_master").integer
        guard owner == 0, version == 0, tables == 0 else { throw StorageFailure(.open, path, .foreign) }
        return 0
    }

    private func prepare(_ database: Database) throws(StorageFailure) {
        try takeOver(database)
        if schema.checksIntegrity, try PathHandle(path).size <= Self.largestCheckedFile,
            try database.value("PRAGMA integrity_check(1)") != .text("ok")
        {
            throw StorageFailure(.read, path, .database(SQLITE_CORRUPT))
        }
    }

    /// Switches to a rollback journal, whatever mode the file was in, and creates the schema.
    private func takeOver(_ database: Database) throws(StorageFailure) {
        // In a file without tables, a switch holds a read lock and waits for a write lock. Two switches, or a switch
        // and the transaction that creates the tables, would wait for each other.
        let lock = try? FolderLock(of: path)
        defer { lock?.release() }
        try database.lockExclusively()
        let version = try version(of: database)
        // auto_vacuum can be changed only in a file without tables.
        if version == 0 { try database.execute("PRAGMA auto_vacuum=INCREMENTAL") }
        try database.share()
        try database.execute("PRAGMA synchronous=\(schema.durability.rawValue); PRAGMA secure_delete=ON")
        if version == 0, schema.durability == .full {
            // SQLite synchronizes the file's folder only, and that and those above it may be new. Whether this process
            // has made them does not matter: another one may have been killed before it got here.
            try SynchronizedFolder.synchronizeOwn(to: SynchronizedFolder.parent(of: path))
        }
        if version < schema.version { try schema.migrate(database, to: schema.version) }
    }

    // MARK: Repairing

    /// Returns whether the file was replaced.
    @discardableResult
    private func repair(isForeign: Bool) -> Bool {
        database = nil
        guard let path = try? directory.make() + "/" + schema.name, let identity else { return false }
        do throws(StorageFailure) {
            if let report = try DatabaseRepair(schema, path: path, isForeign: isForeign).run(unlessOtherThan: identity)
            {
                notify(.repaired(path: path, saved: report.saved, putAside: report.aside))
            }
            return true
        } catch {
            return false
        }
    }
}
