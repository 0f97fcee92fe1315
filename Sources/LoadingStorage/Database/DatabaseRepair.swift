internal import CLoadingLinux
internal import Glibc

/// Makes a new file of what can be read of a damaged one, and puts that one aside.
struct DatabaseRepair {
    struct Report {
        var saved: Int
        var aside: String?
    }

    private let design: DatabaseDesign
    private let path: String
    private let isForeign: Bool

    /// What is larger than that is not kept when it is damaged.
    private static let largestAside: Int64 = 16 << 20
    static let sideFiles = ["-wal", "-shm", "-journal"]

    init(_ design: DatabaseDesign, path: String, isForeign: Bool) {
        self.design = design
        self.path = path
        self.isForeign = isForeign
    }

    private static func aside(of path: String) -> String { path + ".damaged" }
    private static func fresh(of path: String) -> String { path + ".new" }
    private var fresh: String { Self.fresh(of: path) }

    /// Removes the file that was put aside, and one that a process was killed over. False if somebody repairs right now.
    static func removeLeftovers(of path: String) -> Bool {
        guard let lock = try? FolderLock(of: path) else { return false }
        defer { lock.release() }
        remove(aside(of: path))
        remove(fresh(of: path))
        return true
    }

    private static func remove(_ file: String) {
        for end in [""] + sideFiles { unlink(file + end) }
    }

    /// Nil if another process has done it: the file is another one already.
    func run(unlessOtherThan damaged: FileIdentity) throws(StorageFailure) -> Report? {
        let lock = try FolderLock(of: path)
        defer { lock.release() }
        let place = try PathHandle(path)
        guard place.identity == damaged else { return nil }
        Self.remove(fresh)
        let saved = try makeFresh()
        return Report(saved: saved, aside: try replace(keepsOld: isForeign || place.size <= Self.largestAside))
    }

    /// From one moment to the next there is the new file, and never none.
    private func replace(keepsOld: Bool) throws(StorageFailure) -> String? {
        var aside = Self.aside(of: path)
        var keepsOld = keepsOld
        if isForeign {
            // It is not ours to remove, neither this one nor one before.
            aside = path + ".foreign"
            guard link(path, aside) == 0 else { throw StorageFailure(.make, aside, .system(cll_errno())) }
        } else {
            Self.remove(aside)
            // Not every file system has second names.
            if keepsOld { keepsOld = link(path, aside) == 0 }
        }
        // A journal that is left would be taken for that of the new file.
        for end in Self.sideFiles {
            if !keepsOld || end == "-shm" || rename(path + end, aside + end) != 0 { unlink(path + end) }
        }
        guard rename(fresh, path) == 0 else { throw StorageFailure(.write, path, .system(cll_errno())) }
        return keepsOld ? aside : nil
    }

    // MARK: Saving

    private func makeFresh() throws(StorageFailure) -> Int {
        try StorageDirectory.claimFile(fresh)
        let new = try Database(fresh)
        // Without a file beside it, since it gets another name.
        try new.execute("PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=DELETE; PRAGMA synchronous=FULL")
        if isForeign {
            try design.migrate(new, to: design.version)
            return 0
        }
        let version = versionWithJournal()
        try design.migrate(new, to: (1...design.version).contains(version) ? version : design.version)
        let saved = try save(to: new)
        try design.migrate(new, to: design.version)
        return saved
    }

    /// Has SQLite bring what is in the journal into the file, as far as it can.
    private func versionWithJournal() -> Int64 {
        guard let old = try? Database(path) else { return design.version }
        try? old.lockAlone()
        let version = try? old.value("PRAGMA user_version").integer
        try? old.share()
        return version ?? design.version
    }

    private func save(to new: Database) throws(StorageFailure) -> Int {
        let tables = try ChecksummedTable.all(of: new)
        let pages = try DatabasePages(path)
        return try new.transaction { () throws(StorageFailure) in
            var saved = 0
            try pages.rows { (row) throws(StorageFailure) in
                guard let table = tables.first(where: { $0.isWhole(row) }) else { return }
                try new.run(table.insert, row)
                saved += 1
            }
            return saved
        }
    }
}

/// A table whose rows say whether they are whole.
private struct ChecksummedTable {
    let insert: String
    private let count: Int
    private let seal: Int

    static func all(of database: Database) throws(StorageFailure) -> [ChecksummedTable] {
        var names: [String] = []
        try database.rows("SELECT name FROM sqlite_master WHERE type='table' AND name NOT LIKE 'sqlite_%'") {
            (row) throws(StorageFailure) in
            if let name = row.first?.text { names.append(name) }
        }
        var tables: [ChecksummedTable] = []
        for name in names {
            var columns: [String] = []
            try database.rows("SELECT name FROM pragma_table_info(?)", [.text(name)]) { (row) throws(StorageFailure) in
                if let name = row.first?.text { columns.append(name) }
            }
            if let seal = columns.firstIndex(of: "seal") {
                tables.append(ChecksummedTable(name, columns, seal: seal))
            }
        }
        return tables
    }

    private init(_ name: String, _ columns: [String], seal: Int) {
        let marks = columns.map { _ in "?" }.joined(separator: ", ")
        insert = "INSERT OR REPLACE INTO \(name) (\(columns.joined(separator: ", "))) VALUES (\(marks))"
        count = columns.count
        self.seal = seal
    }

    func isWhole(_ row: [DatabaseValue]) -> Bool { row.count == count && ChecksummedRow.isWhole(row[seal...]) }
}
