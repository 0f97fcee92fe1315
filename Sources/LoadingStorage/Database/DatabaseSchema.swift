/// The schema of a store's file, with its migrations.
package struct DatabaseSchema: Sendable {
    /// The file name.
    package var name: String
    /// SQLite's `application_id`, which identifies files of this store.
    package var applicationID: Int32
    /// Statements that upgrade from each version to the next. The version of a file (`user_version`) is the number of
    /// applied migrations.
    ///
    /// Tables have a column `id` first, and a column `seal` with the checksum of the columns after it. It identifies
    /// undamaged rows in a damaged file.
    ///
    /// Made when a file is opened, because a process asks for the name alone to see whether there is one.
    package var migrations: [String] { makeMigrations() }
    private let makeMigrations: @Sendable () -> [String]
    package var durability: Database.Durability
    /// Whether the file is checked completely when it is opened. In larger files, damage is detected when it is read.
    package var checksIntegrity: Bool

    package init(
        name: String, applicationID: Int32, migrations: @autoclosure @escaping @Sendable () -> [String],
        durability: Database.Durability, checksIntegrity: Bool
    ) {
        self.name = name
        self.applicationID = applicationID
        makeMigrations = migrations
        self.durability = durability
        self.checksIntegrity = checksIntegrity
    }

    var version: Int64 { Int64(migrations.count) }

    /// Applies the migrations up to that version, in one transaction.
    func migrate(_ database: Database, to last: Int64) throws(StorageFailure) {
        try database.transaction { () throws(StorageFailure) in
            // Another process may have applied them meanwhile.
            let first = try database.value("PRAGMA user_version").integer ?? 0
            if first >= last || first < 0 { return }
            for migration in migrations[Int(first)..<Int(last)] { try database.execute(migration) }
            try database.execute("PRAGMA application_id=\(applicationID); PRAGMA user_version=\(last)")
        }
    }
}
