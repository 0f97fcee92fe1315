internal import CLoadingLinux
internal import CSQLite
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
    /// How often a damaged table is looked into at most.
    private static let mostProbes = 2000
    private static let sideFiles = ["-wal", "-shm", "-journal"]

    init(_ design: DatabaseDesign, path: String, isForeign: Bool) {
        self.design = design
        self.path = path
        self.isForeign = isForeign
    }

    private static func aside(of path: String) -> String { path + ".damaged" }
    private var fresh: String { path + ".new" }

    /// Removes the file that was put aside.
    static func removeAside(of path: String) {
        for end in [""] + sideFiles { unlink(aside(of: path) + end) }
    }

    /// Nil if another process has done it: the file is another one already.
    func run(unlessOtherThan damaged: FileIdentity) throws(StorageFailure) -> Report? {
        let lock = try FolderLock(of: path)
        defer { lock.release() }
        let place = try Place(path)
        guard place.identity == damaged else { return nil }
        for end in [""] + Self.sideFiles { unlink(fresh + end) }
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
            Self.removeAside(of: path)
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
        try new.execute("PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=DELETE; PRAGMA synchronous=FULL")
        let old = isForeign ? nil : (try? Database(path)) ?? (try? Database(path, .read))
        let version = old.flatMap { try? $0.value("PRAGMA user_version").integer } ?? design.version
        try design.migrate(new, to: (1...design.version).contains(version) ? version : design.version)
        var saved = 0
        if let old { saved = try save(from: old, to: new) }
        try design.migrate(new, to: design.version)
        return saved
    }

    private func save(from old: Database, to new: Database) throws(StorageFailure) -> Int {
        var tables: [String] = []
        try new.rows("SELECT name FROM sqlite_master WHERE type='table' AND name NOT LIKE 'sqlite_%'") {
            (row) throws(StorageFailure) in
            if let name = row.first?.text { tables.append(name) }
        }
        return try new.transaction { () throws(StorageFailure) in
            var saved = 0
            for table in tables {
                var columns: [String] = []
                try new.rows("SELECT name FROM pragma_table_info(?)", [.text(table)]) { (row) throws(StorageFailure) in
                    if let name = row.first?.text { columns.append(name) }
                }
                var rescue = TableRescue(table: table, columns: columns, probes: Self.mostProbes)
                try rescue.run(from: old, to: new)
                saved += rescue.saved
            }
            return saved
        }
    }
}

/// Copies the rows of a table that can be read, around those that cannot.
private struct TableRescue {
    private let selection: String
    private let insertion: String
    private let isSealed: Bool
    private var probes: Int
    private(set) var saved = 0

    init(table: String, columns: [String], probes: Int) {
        let list = columns.joined(separator: ", ")
        // An index may be what is damaged.
        selection = "SELECT \(list) FROM \(table) NOT INDEXED WHERE id BETWEEN ? AND ? ORDER BY id"
        let marks = columns.map { _ in "?" }.joined(separator: ", ")
        insertion = "INSERT OR REPLACE INTO \(table) (\(list)) VALUES (\(marks))"
        isSealed = columns.dropFirst().first == "seal"
        self.probes = probes
    }

    mutating func run(from old: Database, to new: Database) throws(StorageFailure) {
        try copy(0, .max, from: old, to: new)
    }

    /// The rows from one number to another: from the lowest up to the first that cannot be read, from the highest down
    /// to the last such, and then the halves of what lies between.
    private mutating func copy(
        _ lowest: Int64, _ highest: Int64, from old: Database, to new: Database
    ) throws(StorageFailure) {
        var ranges = [(lowest, highest)]
        while let (low, high) = ranges.popLast(), probes > 0 {
            guard let last = try copy(low, high, isAscending: true, from: old, to: new) else { continue }
            let from = last.map { $0 &+ 1 } ?? low
            guard let first = try copy(from, high, isAscending: false, from: old, to: new) else { continue }
            let to = first.map { $0 &- 1 } ?? high
            guard from < to else { continue }
            let middle = from + (to - from) / 2
            ranges.append((middle + 1, to))
            ranges.append((from, middle))
        }
    }

    /// Nil if all could be read, else the last row before the damage, if there was one.
    private mutating func copy(
        _ low: Int64, _ high: Int64, isAscending: Bool, from old: Database, to new: Database
    ) throws(StorageFailure) -> Int64?? {
        probes -= 1
        var last: Int64?
        var broken: StorageFailure?
        var count = 0
        do throws(StorageFailure) {
            try old.rows(selection + (isAscending ? "" : " DESC"), [.integer(low), .integer(high)]) {
                (row) throws(StorageFailure) in
                // A damaged tree may lead in circles.
                guard let id = row.first?.integer, last.map({ isAscending ? $0 < id : $0 > id }) ?? true else {
                    throw StorageFailure(.read, old.path, .database(SQLITE_CORRUPT))
                }
                last = id
                guard !isSealed || SealedRow.isWhole(row.dropFirst()) else { return }
                do throws(StorageFailure) { try new.run(insertion, row) } catch {
                    broken = error
                    throw error
                }
                count += 1
            }
            saved += count
            return nil
        } catch {
            saved += count
            if let broken { throw broken }
            return .some(last)
        }
    }
}
