import Foundation
import TestSupport
import Testing

@testable import LoadingStorage

@Suite(.leakChecked) struct DatabaseTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func database(_ name: String = "db") throws -> Database {
        let path = directory.file(name).path
        try StorageDirectory.claimFile(path)
        return try Database(path)
    }

    @Test(
        "each value comes back as what it was",
        arguments: [
            .null, .integer(0), .integer(.min), .integer(.max), .real(0.1), .real(1), .real(-.infinity), .text(""),
            .text("a\0b"), .text("é\u{1F600}"), .blob(Data()), .blob(Data([0, 255, 0])), .text("17"),
        ] as [DatabaseValue])
    func values(value: DatabaseValue) throws {
        let database = try database()
        try database.execute("CREATE TABLE t (v)")
        try database.run("INSERT INTO t VALUES (?)", [value])
        #expect(try database.value("SELECT v FROM t") == value)
    }

    @Test("a value of another type, and invalid text, read as nil") func noValues() throws {
        #expect(DatabaseValue(Double.nan) == .null)
        let database = try database()
        #expect(try database.value("SELECT CAST(x'FF41' AS TEXT)") == .null)
    }

    @Test("an endless statement counts as damage, a full scan of a large file does not") func allowance()
        throws
    {
        let path = try database().path
        try Database(path).execute("CREATE TABLE t (v)")
        let long = """
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 7000000) SELECT count(*) FROM n
            """
        #expect(throws: StorageFailure(.read, path, .database(11))) { try Database(path).value(long) }
        #expect(truncate(path, 1 << 30) == 0)
        #expect(try Database(path).value(long) == .integer(7_000_000))
    }

    @Test("a failed transaction changes nothing") func rollback() throws {
        let database = try database()
        try database.execute("CREATE TABLE t (v UNIQUE)")
        #expect(throws: StorageFailure(.write, database.path, .database(2067))) {
            try database.transaction { () throws(StorageFailure) in
                try database.run("INSERT INTO t VALUES (1)")
                try database.run("INSERT INTO t VALUES (1)")
            }
        }
        #expect(try database.value("SELECT count(*) FROM t") == .integer(0))
        try database.transaction { () throws(StorageFailure) in try database.run("INSERT INTO t VALUES (1)") }
        #expect(try database.value("SELECT count(*) FROM t") == .integer(1))
    }

    @Test("errors do not contain stored values") func silentFailures() throws {
        let database = try database()
        let failure = #expect(throws: StorageFailure.self) { try database.run("SELECT secret FROM hidden") }
        #expect(failure?.description == "cannot read \(database.path): SQL logic error (1)")
    }

    @Test("more statements than the statement cache holds") func manyStatements() throws {
        let database = try database()
        for number in 0..<300 { #expect(try database.value("SELECT \(number)") == .integer(Int64(number))) }
    }

    @Test("a file name with characters that are reserved in URIs") func strangeName() throws {
        let name = "a?b#c%41 é"
        do {
            let database = try database(name)
            try database.execute("CREATE TABLE t (v)")
        }
        let immutable = try Database(directory.file(name).path, .immutable)
        #expect(try immutable.value("SELECT count(*) FROM t") == .integer(0))
        #expect(throws: StorageFailure.self) { try immutable.execute("CREATE TABLE u (v)") }
    }

    @Test("a link is not followed") func link() throws {
        _ = try database("target")
        symlink(directory.file("target").path, directory.file("link").path)
        let failure = #expect(throws: StorageFailure.self) { try Database(directory.file("link").path) }
        #expect(failure?.action == .open)
    }
}
