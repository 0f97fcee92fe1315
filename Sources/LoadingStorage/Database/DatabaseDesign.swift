/// What a store's file is like, and how it came to be so.
package struct DatabaseDesign: Sendable {
    /// The file's name.
    package var name: String
    /// Kept in the file, so that no other program's is taken for the store's.
    package var applicationID: Int32
    /// What makes each version of the one before. The file's version is how many of them it has seen.
    ///
    /// A table has a column `id` first, and one `seal` of what follows that. By it a row of a damaged file is known to be
    /// whole.
    package var migrations: [String]
    package var durability: Database.Durability
    /// A small file is looked through when it is opened. In a large one damage shows when it is met.
    package var isCheckedWhole: Bool

    package init(
        name: String, applicationID: Int32, migrations: [String], durability: Database.Durability, isCheckedWhole: Bool
    ) {
        self.name = name
        self.applicationID = applicationID
        self.migrations = migrations
        self.durability = durability
        self.isCheckedWhole = isCheckedWhole
    }

    var version: Int64 { Int64(migrations.count) }

    /// Has the file see the migrations up to that version, in one transaction.
    func migrate(_ database: Database, to last: Int64) throws(StorageFailure) {
        try database.transaction { () throws(StorageFailure) in
            // Another process may have come first.
            let first = try database.value("PRAGMA user_version").integer ?? 0
            if first >= last || first < 0 { return }
            for migration in migrations[Int(first)..<Int(last)] { try database.execute(migration) }
            try database.execute("PRAGMA application_id=\(applicationID); PRAGMA user_version=\(last)")
        }
    }
}
