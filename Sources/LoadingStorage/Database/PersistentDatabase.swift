internal import CLoadingLinux
internal import CLoadingSQLite
internal import Glibc
internal import LoadingSemantics

/// The file of a store, which is opened when it is needed, and made whole when it is damaged.
///
/// What cannot be done now gives nil. The store then keeps in memory what it wanted to write, and tries again with
/// what it writes next. Used by one thread at a time.
final class PersistentDatabase {
    private let directory: StorageDirectory
    private let design: DatabaseDesign
    private let notify: @Sendable (StorageMessage) -> Void

    private var database: Database?
    private var isReadOnly = false
    /// Which file was opened last, or could not be.
    private var identity: FileIdentity?
    /// A later release's file is not touched.
    private var isGivenUp = false
    /// Which file was in use last, be it closed by now; nil when its loss was noticed.
    private var used: FileIdentity?
    /// Whether a file was lost that nobody has heard of yet.
    private var isLost = false

    /// Why nothing can be written now.
    private(set) var trouble: StorageFailure?
    /// Another number than before when the file was opened again, and so may be another one.
    private(set) var generation = 0

    private static let largestCheckedWhole: Int64 = 16 << 20

    init(_ design: DatabaseDesign, in directory: StorageDirectory, notify: @escaping @Sendable (StorageMessage) -> Void)
    {
        self.design = design
        self.directory = directory
        self.notify = notify
    }

    var path: String { directory.path + "/" + design.name }
    var exists: Bool { access(path, F_OK) == 0 || cll_errno() != ENOENT }

    /// Nil also if there is no file yet.
    func read<Result>(_ work: (Database) throws(StorageFailure) -> Result) -> Result? {
        if database == nil, !exists { return nil }
        return attempt(.read, work)
    }

    /// Does it in one transaction.
    func write<Result>(_ work: (Database) throws(StorageFailure) -> Result) -> Result? {
        attempt(.write) { (database) throws(StorageFailure) in
            try database.transaction { () throws(StorageFailure) in try work(database) }
        }
    }

    /// Whether the file that was in use is gone, or another has its place, as after a repair: what it had may be gone with it.
    /// Told once.
    func hasLostFile() -> Bool {
        noticeLoss()
        defer { isLost = false }
        return isLost
    }

    private func noticeLoss() {
        guard let used else { return }
        if let database, !database.hasMoved { return }
        if database == nil {
            do throws(StorageFailure) {
                if try PathHandle(path).identity == used { return }
            } catch {
                // What cannot be looked at may be there all the same.
                if error.reason != .system(ENOENT) { return }
            }
        }
        database = nil
        self.used = nil
        isLost = true
    }

    /// Has the file made anew, of those rows that are whole.
    func repair() { repair(isForeign: false) }

    /// After that nothing of what was removed is left in any file.
    ///
    /// - Returns: False if it may be left, such as while another process reads what was there before.
    @discardableResult
    func forgetRemoved() -> Bool {
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
                if mode == .write, trouble != nil {
                    trouble = nil
                    database?.setPatience(TimeLimits.standard.databaseLock)
                    notify(.writableAgain(path: path))
                }
                return result
            } catch {
                // Another program has begun a log, which is brought in when the file is opened.
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
        // A full disk and another process leave the connection as it was.
        if case .database(let code) = failure.reason, [SQLITE_FULL, SQLITE_BUSY].contains(code & 0xFF) {
            database?.setPatience(TimeLimits.standard.databaseLockInTrouble)
        } else {
            database = nil
        }
        var isNew = trouble == nil
        if case .newer = failure.reason, !isGivenUp {
            isGivenUp = true
            // Whatever it was before: that is what it stays.
            isNew = true
        }
        if isNew {
            trouble = failure
            notify(.inMemory(failure))
        }
    }

    // MARK: Opening

    private func opened(_ mode: Database.Mode) throws(StorageFailure) -> Database {
        if isGivenUp, let trouble { throw trouble }
        noticeLoss()
        if let database, mode != .write || !isReadOnly { return database }
        database = nil
        do throws(StorageFailure) {
            // Before an empty file is made.
            try Database.library(for: path)
            let path = try directory.make() + "/" + design.name
            identity = (try? PathHandle(path))?.identity
            try StorageDirectory.claimFile(path)
            for end in DatabaseRepair.sideFiles { try StorageDirectory.claimSideFile(path + end) }
            identity = try PathHandle(path).identity
            let new = try Database(
                path,
                patience: trouble == nil ? TimeLimits.standard.databaseLock : TimeLimits.standard.databaseLockInTrouble)
            try prepare(new)
            return keep(new, isReadOnly: new.isReadOnly)
        } catch {
            guard mode != .write, error.isReadOnly, let frozen = readOnly() else { throw error }
            return keep(frozen, isReadOnly: true)
        }
    }

    private func keep(_ new: Database, isReadOnly: Bool) -> Database {
        self.isReadOnly = isReadOnly
        generation += 1
        database = new
        // It may have been put there since that was looked at.
        if let used, used != identity { isLost = true }
        used = identity
        return new
    }

    /// What is there can be read even where nothing can be written.
    private func readOnly() -> Database? {
        for mode in [Database.Mode.read, .frozen] {
            if let database = try? Database(path, mode), let version = try? version(of: database),
                version == design.version
            {
                return database
            }
        }
        return nil
    }

    /// 0 for a file that nobody has written to.
    private func version(of database: Database) throws(StorageFailure) -> Int64 {
        // In one look: another process may be making the file, and half of that would look like somebody else's.
        try database.snapshot { () throws(StorageFailure) in try versionNow(of: database) }
    }

    private func versionNow(of database: Database) throws(StorageFailure) -> Int64 {
        let version = try database.value("PRAGMA user_version").integer ?? 0
        let owner = try database.value("PRAGMA application_id").integer ?? 0
        if owner == Int64(design.applicationID) {
            if version < 1 { throw StorageFailure(.open, path, .foreign) }
            if version > design.version { throw StorageFailure(.open, path, .newer(version: version)) }
            return version
        }
        let tables = try database.value("SELECT count(*) FROM sqlite_master").integer
        guard owner == 0, version == 0, tables == 0 else { throw StorageFailure(.open, path, .foreign) }
        return 0
    }

    private func prepare(_ database: Database) throws(StorageFailure) {
        let version = try takeOver(database)
        try database.execute("PRAGMA synchronous=\(design.durability.rawValue); PRAGMA secure_delete=ON")
        if version < design.version { try design.migrate(database, to: design.version) }
        if design.isCheckedWhole, try PathHandle(path).size <= Self.largestCheckedWhole,
            try database.value("PRAGMA integrity_check(1)") != .text("ok")
        {
            throw StorageFailure(.read, path, .database(SQLITE_CORRUPT))
        }
    }

    /// Has the file kept with a rollback journal, whatever it was kept with, and tells its version.
    private func takeOver(_ database: Database) throws(StorageFailure) -> Int64 {
        // Two connections that have read the file, and want it alone, would wait for each other.
        let lock = try? FolderLock(of: path)
        defer { lock?.release() }
        try database.lockAlone()
        let version = try version(of: database)
        // Only a file without tables can be made one that gives room back.
        if version == 0 { try database.execute("PRAGMA auto_vacuum=INCREMENTAL") }
        try database.share()
        return version
    }

    // MARK: Repairing

    /// Whether there is another file now.
    @discardableResult
    private func repair(isForeign: Bool) -> Bool {
        database = nil
        guard let path = try? directory.make() + "/" + design.name, let identity else { return false }
        do throws(StorageFailure) {
            if let report = try DatabaseRepair(design, path: path, isForeign: isForeign).run(unlessOtherThan: identity)
            {
                notify(.repaired(path: path, saved: report.saved, putAside: report.aside))
            }
            return true
        } catch {
            return false
        }
    }
}
