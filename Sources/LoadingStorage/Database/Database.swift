internal import CLoadingLinux
internal import CSQLite
internal import FoundationEssentials
internal import Glibc

/// An SQLite file, open. Used by one thread at a time; every call may wait for the disk.
///
/// Nothing that is in the file reaches a trap, and no failure says what is in it.
package final class Database {
    package enum Mode: Sendable, Equatable {
        case write
        case read
        /// On a medium that nobody can write to, and which so has no place for locks either.
        case frozen
    }

    /// How much of what was committed may be gone after the machine lost its power; a killed process loses none.
    package enum Durability: String, Sendable {
        /// The last transactions may be gone.
        case normal = "NORMAL"
        case full = "FULL"
    }

    package let path: String
    private let handle: OpaquePointer
    private var statements: [String: OpaquePointer] = [:]
    private static let mostStatements = 64
    /// What is larger is not stored, and where a damaged file says so there is no memory given to it.
    private static let largestValue: Int32 = 64 << 20

    /// What a statement may do yet. A damaged tree may lead in circles, and a statement would go round for ever.
    private let allowance: UnsafeMutablePointer<Int32>
    /// In steps of SQLite's machine, and how often that many may be done of a small file.
    private static let allowed: (steps: Int32, times: Int32) = (100_000, 500)
    private var times = Database.allowed.times
    private var statementCount: UInt64 = 0

    /// - Parameter patience: How long to wait for another process, in milliseconds.
    package init(_ path: String, _ mode: Mode = .write, patience: Int32 = 2000) throws(StorageFailure) {
        self.path = path
        var handle: OpaquePointer?
        var flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW
        flags |= mode == .write ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY
        var name = path
        if mode == .frozen {
            flags |= SQLITE_OPEN_URI
            name = "file:" + Self.escaped(path) + "?immutable=1"
        }
        let code = sqlite3_open_v2(name, &handle, flags, nil)
        guard code == SQLITE_OK, let handle else {
            let extended = handle.map { sqlite3_extended_errcode($0) } ?? code
            sqlite3_close_v2(handle)
            throw StorageFailure(.open, path, .database(extended == SQLITE_OK ? code : extended))
        }
        self.handle = handle
        sqlite3_extended_result_codes(handle, 1)
        sqlite3_busy_timeout(handle, patience)
        sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, Self.largestValue)
        csq_defend(handle)
        allowance = .allocate(capacity: 1)
        allowance.initialize(to: times)
        sqlite3_progress_handler(
            handle, Self.allowed.steps,
            { context in
                guard let left = context?.assumingMemoryBound(to: Int32.self) else { return 0 }
                left.pointee -= 1
                return left.pointee < 0 ? 1 : 0
            }, allowance)
        // A page that cannot be read is an error then, and not a signal.
        try execute("PRAGMA mmap_size=0; PRAGMA cell_size_check=ON")
    }

    deinit {
        for statement in statements.values { sqlite3_finalize(statement) }
        sqlite3_close_v2(handle)
        allowance.deallocate()
    }

    /// How long to wait for another process, in milliseconds.
    func setPatience(_ patience: Int32) { sqlite3_busy_timeout(handle, patience) }

    /// Whether another file has the name now, or none.
    var hasMoved: Bool { csq_has_moved(handle) != 0 }

    // MARK: Statements

    /// Statements without values, of which no rows are wanted.
    package func execute(_ statements: String) throws(StorageFailure) {
        renewAllowance()
        let code = sqlite3_exec(handle, statements, nil, nil, nil)
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
            sqlite3_reset(statement)
            sqlite3_clear_bindings(statement)
        }
        for (index, value) in values.enumerated() {
            let code = Self.bind(value, to: statement, at: Int32(truncatingIfNeeded: index + 1))
            guard code == SQLITE_OK else { throw failure(.write, code) }
        }
        renewAllowance()
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW: try each(Self.row(of: statement))
            case SQLITE_DONE: return
            case let code: throw failure(sqlite3_stmt_readonly(statement) != 0 ? .read : .write, code)
            }
        }
    }

    /// Rows that the last statement has changed.
    package var changes: Int { Int(sqlite3_changes(handle)) }
    package var lastRow: Int64 { sqlite3_last_insert_rowid(handle) }

    private func renewAllowance() {
        // To look at each row of a large file takes fewer steps than the file has bytes. It may have grown.
        if statementCount % 1000 == 0 {
            let size = (try? Place(path).size) ?? 0
            times = Self.allowed.times + Int32(clamping: min(size / Int64(Self.allowed.steps), 1_000_000))
        }
        statementCount &+= 1
        allowance.pointee = times
    }

    private func prepared(_ text: String) throws(StorageFailure) -> OpaquePointer {
        if let statement = statements[text] { return statement }
        var statement: OpaquePointer?
        let code = sqlite3_prepare_v2(handle, text, -1, &statement, nil)
        guard code == SQLITE_OK, let statement else { throw failure(.read, code) }
        if statements.count >= Self.mostStatements {
            for old in statements.values { sqlite3_finalize(old) }
            statements = [:]
        }
        statements[text] = statement
        return statement
    }

    private static func bind(_ value: DatabaseValue, to statement: OpaquePointer, at index: Int32) -> Int32 {
        switch value {
        case .null: return sqlite3_bind_null(statement, index)
        case .integer(let number): return sqlite3_bind_int64(statement, index, number)
        case .real(let number): return sqlite3_bind_double(statement, index, number)
        case .text(var text):
            return text.withUTF8 { bytes in
                Int32(exactly: bytes.count).map { csq_bind_text(statement, index, bytes.baseAddress, $0) }
                    ?? SQLITE_TOOBIG
            }
        case .blob(let data):
            return data.withUnsafeBytes { bytes in
                Int32(exactly: bytes.count).map { csq_bind_blob(statement, index, bytes.baseAddress, $0) }
                    ?? SQLITE_TOOBIG
            }
        }
    }

    private static func row(of statement: OpaquePointer) -> [DatabaseValue] {
        (0..<sqlite3_column_count(statement)).map { column in
            switch sqlite3_column_type(statement, column) {
            case SQLITE_INTEGER: return .integer(sqlite3_column_int64(statement, column))
            case SQLITE_FLOAT: return .real(sqlite3_column_double(statement, column))
            case SQLITE_TEXT:
                guard let bytes = sqlite3_column_text(statement, column) else { return .null }
                let count = Int(sqlite3_column_bytes(statement, column))
                // No text was stored that is not UTF-8.
                return DatabaseValue(
                    String(validating: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self))
            case SQLITE_BLOB:
                let count = Int(sqlite3_column_bytes(statement, column))
                guard let bytes = sqlite3_column_blob(statement, column) else { return .blob(Data()) }
                return .blob(Data(bytes: bytes, count: count))
            default: return .null
            }
        }
    }

    private func failure(_ action: StorageFailure.Action, _ code: Int32) -> StorageFailure {
        if code & 0xFF == SQLITE_INTERRUPT { return StorageFailure(action, path, .database(SQLITE_CORRUPT)) }
        let extended = sqlite3_extended_errcode(handle)
        return StorageFailure(action, path, .database(extended & 0xFF == code & 0xFF ? extended : code))
    }

    // MARK: Transactions

    /// Does all of it or nothing, and sees what others have written before.
    package func transaction<Result>(
        _ work: () throws(StorageFailure) -> Result
    ) throws(StorageFailure) -> Result {
        try perform("BEGIN IMMEDIATE", work)
    }

    /// Reads the file as it is at one moment.
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
            // Some failures have rolled it back already.
            if sqlite3_get_autocommit(handle) == 0 { try? run("ROLLBACK") }
            throw error
        }
    }

    /// Another number than before when another connection has changed the file.
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
