internal import CLoadingLinux
internal import CLoadingSQLite
internal import FoundationEssentials
internal import Glibc
internal import LoadingSemantics

/// An open SQLite file. Used by one thread at a time. Every call may wait for the disk.
///
/// Damaged files cause errors, never traps, and errors contain no stored values. The file is not memory-mapped, because
/// another program may truncate it.
package final class Database {
    package enum Mode: Sendable, Equatable {
        case write
        case read
        /// A read-only medium, which does not support locks.
        case immutable
    }

    /// How much committed data a power failure may lose. A killed process loses none.
    package enum Durability: String, Sendable {
        /// Everything that the system had not written. The file may be damaged; rows with a valid checksum can be
        /// saved.
        case none = "OFF"
        /// Nothing.
        case full = "FULL"
    }

    package let path: String
    private let sqlite: clq_functions
    private let handle: OpaquePointer
    private var statements: [String: OpaquePointer] = [:]
    private static let mostStatements = 64
    /// Larger values are not stored. Also limits allocations for a damaged file.
    private static let largestValue: Int32 = 64 << 20

    private struct Limits {
        /// The remaining progress callbacks of the current statement. A damaged b-tree may contain a cycle, in which a
        /// statement would never end.
        var allowance: Int32
        /// How long to wait for another process, in milliseconds.
        var timeout: Int32
    }

    private let limits: UnsafeMutablePointer<Limits>
    private let methods: UnsafeMutablePointer<sqlite3_io_methods>
    /// The number of virtual machine steps between progress callbacks, and the number of callbacks allowed for a small
    /// file.
    private static let allowed: (steps: Int32, times: Int32) = (100_000, 500)
    private var times = Database.allowed.times
    private var statementCount: UInt64 = 0

    /// - Parameter timeout: How long to wait for another process, in milliseconds.
    package init(_ path: String, _ mode: Mode = .write, timeout: Int32 = TimeLimits.standard.databaseLock)
        throws(StorageFailure)
    {
        let sqlite = try Self.library(for: path)
        self.sqlite = sqlite
        self.path = path
        var handle: OpaquePointer?
        var flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW
        flags |= mode == .write ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY
        var name = path
        if mode == .immutable {
            flags |= SQLITE_OPEN_URI
            name = "file:" + Self.escaped(path) + "?immutable=1"
        }
        let code = sqlite.open_v2(name, &handle, flags, nil)
        guard code == SQLITE_OK, let handle else {
            let extended = handle.map { sqlite.extended_errcode($0) } ?? code
            _ = sqlite.close_v2(handle)
            throw StorageFailure(.open, path, .database(extended == SQLITE_OK ? code : extended))
        }
        self.handle = handle
        _ = sqlite.extended_result_codes(handle, 1)
        _ = sqlite.limit(handle, SQLITE_LIMIT_LENGTH, Self.largestValue)
        clq_defend(handle)
        methods = .allocate(capacity: 1)
        methods.initialize(to: sqlite3_io_methods())
        limits = .allocate(capacity: 1)
        limits.initialize(to: Limits(allowance: times, timeout: timeout))
        sqlite.progress_handler(
            handle, Self.allowed.steps,
            { context in
                guard let limits = context?.assumingMemoryBound(to: Limits.self) else { return 0 }
                limits.pointee.allowance -= 1
                return limits.pointee.allowance < 0 ? 1 : 0
            }, limits)
        // SQLite's own busy handler sleeps for up to 100 ms, during which frequent writers can take every gap.
        _ = sqlite.busy_handler(
            handle,
            { context, count in
                guard let limits = context?.assumingMemoryBound(to: Limits.self), count < limits.pointee.timeout
                else { return 0 }
                usleep(1000)
                return 1
            }, limits)
        guard clq_forgo_mapping(handle, methods) else { throw failure(.open, SQLITE_CANTOPEN) }
        try execute("PRAGMA mmap_size=0; PRAGMA cell_size_check=ON; PRAGMA temp_store=MEMORY")
    }

    /// Throws if the SQLite library is missing.
    @discardableResult
    static func library(for path: String) throws(StorageFailure) -> clq_functions {
        guard let functions = clq_load() else {
            throw StorageFailure(.open, path, .library(String(cString: clq_library_name)))
        }
        return functions.pointee
    }

    deinit {
        for statement in statements.values { _ = sqlite.finalize(statement) }
        _ = sqlite.close_v2(handle)
        limits.deallocate()
        methods.deallocate()
    }

    /// How long to wait for another process, in milliseconds.
    func setTimeout(_ timeout: Int32) { limits.pointee.timeout = timeout }

    /// Whether the path no longer refers to this file.
    var hasMoved: Bool { clq_has_moved(handle) }

    /// Whether the file could be opened only for reading.
    var isReadOnly: Bool { sqlite.db_readonly(handle, "main") != 0 }

    // MARK: The journal

    /// Locks the file exclusively from the next statement on, until `share`.
    ///
    /// A WAL of an earlier release or of another program is then read, without its shared memory.
    func lockExclusively() throws(StorageFailure) { try execute("PRAGMA locking_mode=EXCLUSIVE") }

    /// Merges a WAL into the file, switches to a rollback journal, and lets other processes use the file.
    func share() throws(StorageFailure) {
        guard try value("PRAGMA journal_mode=TRUNCATE") == .text("truncate") else {
            throw StorageFailure(.open, path, .database(SQLITE_BUSY))
        }
        // The file is locked, so no other process uses a WAL. A remaining one is empty.
        for end in ["-wal", "-shm"] { unlink(path + end) }
        try execute("PRAGMA locking_mode=NORMAL")
        // The locks are released by the next statement.
        try run("SELECT count(*) FROM sqlite_master")
    }

    // MARK: Statements

    /// Executes statements without parameters and results.
    package func execute(_ statements: String) throws(StorageFailure) {
        resetStepLimit()
        let code = sqlite.exec(handle, statements, nil, nil, nil)
        guard code == SQLITE_OK else { throw failure(.write, code) }
    }

    package func run(_ statement: String, _ values: [DatabaseValue] = []) throws(StorageFailure) {
        try rows(statement, values) { (_) throws(StorageFailure) in }
    }

    /// The first column of the first row.
    package func value(_ statement: String, _ values: [DatabaseValue] = []) throws(StorageFailure) -> DatabaseValue {
        var found: DatabaseValue?
        try rows(statement, values) { (row) throws(StorageFailure) in if found == nil { found = row.first } }
        return found ?? .null
    }

    package func rows(
        _ text: String, _ values: [DatabaseValue] = [],
        _ each: ([DatabaseValue]) throws(StorageFailure) -> Void
    ) throws(StorageFailure) {
        let statement = try prepared(text)
        defer {
            _ = sqlite.reset(statement)
            _ = sqlite.clear_bindings(statement)
        }
        for (index, value) in values.enumerated() {
            let code = bind(value, to: statement, at: Int32(truncatingIfNeeded: index + 1))
            guard code == SQLITE_OK else { throw failure(.write, code) }
        }
        resetStepLimit()
        while true {
            switch sqlite.step(statement) {
            case SQLITE_ROW: try each(row(of: statement))
            case SQLITE_DONE: return
            case let code: throw failure(sqlite.stmt_readonly(statement) != 0 ? .read : .write, code)
            }
        }
    }

    /// The number of rows that the last statement changed.
    package var changes: Int { Int(sqlite.changes(handle)) }
    package var lastRow: Int64 { sqlite.last_insert_rowid(handle) }

    private func resetStepLimit() {
        // A scan of a large file takes fewer steps than the file has bytes. The file may have grown.
        if statementCount % 1000 == 0 {
            let size = (try? PathHandle(path).size) ?? 0
            times = Self.allowed.times + Int32(clamping: min(size / Int64(Self.allowed.steps), 1_000_000))
        }
        statementCount &+= 1
        limits.pointee.allowance = times
    }

    private func prepared(_ text: String) throws(StorageFailure) -> OpaquePointer {
        if let statement = statements[text] { return statement }
        var statement: OpaquePointer?
        let code = sqlite.prepare_v2(handle, text, -1, &statement, nil)
        guard code == SQLITE_OK, let statement else { throw failure(.read, code) }
        if statements.count >= Self.mostStatements {
            for old in statements.values { _ = sqlite.finalize(old) }
            statements = [:]
        }
        statements[text] = statement
        return statement
    }

    private func bind(_ value: DatabaseValue, to statement: OpaquePointer, at index: Int32) -> Int32 {
        switch value {
        case .null: return sqlite.bind_null(statement, index)
        case .integer(let number): return sqlite.bind_int64(statement, index, number)
        case .real(let number): return sqlite.bind_double(statement, index, number)
        case .text(var text):
            return text.withUTF8 { bytes in
                Int32(exactly: bytes.count).map { clq_bind_text(statement, index, bytes.baseAddress, $0) }
                    ?? SQLITE_TOOBIG
            }
        case .blob(let data):
            return data.withUnsafeBytes { bytes in
                Int32(exactly: bytes.count).map { clq_bind_blob(statement, index, bytes.baseAddress, $0) }
                    ?? SQLITE_TOOBIG
            }
        }
    }

    private func row(of statement: OpaquePointer) -> [DatabaseValue] {
        (0..<sqlite.column_count(statement)).map { column in
            switch sqlite.column_type(statement, column) {
            case SQLITE_INTEGER: return .integer(sqlite.column_int64(statement, column))
            case SQLITE_FLOAT: return .real(sqlite.column_double(statement, column))
            case SQLITE_TEXT:
                guard let bytes = sqlite.column_text(statement, column) else { return .null }
                let count = Int(sqlite.column_bytes(statement, column))
                // Only UTF-8 is stored, so other text comes from damage.
                return DatabaseValue(
                    String(validating: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self))
            case SQLITE_BLOB:
                let count = Int(sqlite.column_bytes(statement, column))
                guard let bytes = sqlite.column_blob(statement, column) else { return .blob(Data()) }
                return .blob(Data(bytes: bytes, count: count))
            default: return .null
            }
        }
    }

    private func failure(_ action: StorageFailure.Action, _ code: Int32) -> StorageFailure {
        if code & 0xFF == SQLITE_INTERRUPT { return StorageFailure(action, path, .database(SQLITE_CORRUPT)) }
        let extended = sqlite.extended_errcode(handle)
        return StorageFailure(action, path, .database(extended & 0xFF == code & 0xFF ? extended : code))
    }

    // MARK: Transactions

    /// Runs `work` in an immediate transaction: it sees all commits of others, and is rolled back if it throws.
    package func transaction<Result>(
        _ work: () throws(StorageFailure) -> Result
    ) throws(StorageFailure) -> Result {
        try perform("BEGIN IMMEDIATE", work)
    }

    /// Runs `work` in a read transaction, with one snapshot of the file.
    package func snapshot<Result>(_ work: () throws(StorageFailure) -> Result) throws(StorageFailure) -> Result {
        try perform("BEGIN", work)
    }

    private func perform<Result>(
        _ begin: String, _ work: () throws(StorageFailure) -> Result
    ) throws(StorageFailure) -> Result {
        try run(begin)
        do {
            let result = try work()
            try run("COMMIT")
            return result
        } catch {
            // Some errors roll back the transaction.
            if sqlite.get_autocommit(handle) == 0 { try? run("ROLLBACK") }
            throw error
        }
    }

    /// Changes when another connection has modified the file.
    package func dataVersion() throws(StorageFailure) -> Int64 { try value("PRAGMA data_version").integer ?? 0 }

    private static func escaped(_ path: String) -> String {
        path.utf8.map { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: "-"):
                String(Unicode.Scalar(byte))
            default: (byte < 16 ? "%0" : "%") + String(byte, radix: 16)
            }
        }.joined()
    }
}
