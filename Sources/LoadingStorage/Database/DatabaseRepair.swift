internal import CLoadingLinux
internal import Glibc

/// Creates a new file from the readable rows of a damaged one, and moves that one aside.
struct DatabaseRepair {
    struct Report {
        var saved: Int
        var aside: String?
    }

    private let schema: DatabaseSchema
    private let path: String
    private let isForeign: Bool

    /// Larger damaged files are deleted.
    private static let largestAside: Int64 = 16 << 20
    static let sideFiles = ["-wal", "-shm", "-journal"]

    init(_ schema: DatabaseSchema, path: String, isForeign: Bool) {
        self.schema = schema
        self.path = path
        self.isForeign = isForeign
    }

    private static func aside(of path: String) -> String { path + ".damaged" }
    private static func fresh(of path: String) -> String { path + ".new" }
    private var fresh: String { Self.fresh(of: path) }

    /// Removes the damaged file and an unfinished new one. Returns false while another process repairs.
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

    /// Returns nil if another process has replaced the file already.
    func run(unlessOtherThan damaged: FileIdentity) throws(StorageFailure) -> Report? {
        let lock = try FolderLock(of: path)
        defer { lock.release() }
        let handle = try PathHandle(path)
        guard handle.identity == damaged else { return nil }
        Self.remove(fresh)
        let saved = try makeFresh()
        return Report(saved: saved, aside: try replace(keepsOld: isForeign || handle.size <= Self.largestAside))
    }

    /// Replaces the file atomically.
    private func replace(keepsOld: Bool) throws(StorageFailure) -> String? {
        var aside = Self.aside(of: path)
        var keepsOld = keepsOld
        if isForeign {
            // The file belongs to another program, so it is not deleted, nor is one moved aside earlier.
            aside = path + ".foreign"
            guard link(path, aside) == 0 else { throw StorageFailure(.make, aside, .system(cll_errno())) }
        } else {
            Self.remove(aside)
            // Some file systems have no hard links.
            if keepsOld { keepsOld = link(path, aside) == 0 }
        }
        // SQLite would apply a remaining journal to the new file.
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
        // No journal mode with side files, because the file is renamed.
        try new.execute("PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=DELETE; PRAGMA synchronous=FULL")
        if isForeign {
            try schema.migrate(new, to: schema.version)
            return 0
        }
        let version = versionWithJournal()
        try schema.migrate(new, to: (1...schema.version).contains(version) ? version : schema.version)
        let saved = try save(to: new)
        try schema.migrate(new, to: schema.version)
        return saved
    }

    /// Lets SQLite apply the journal as far as possible.
    private func versionWithJournal() -> Int64 {
        guard let old = try? Database(path) else { return schema.version }
        try? old.lockExclusively()
        let version = try? old.value("PRAGMA user_version").integer
        try? old.share()
        return version ?? schema.version
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

/// A table whose rows have checksums.
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
