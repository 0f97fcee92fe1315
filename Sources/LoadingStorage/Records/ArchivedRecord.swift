/// A value that a `RecordArchive` stores. A store contains at most one record per identity.
package protocol ArchivedRecord: Sendable, Hashable {
    associatedtype Identity: Hashable, Sendable

    static var schema: DatabaseSchema { get }
    static var table: String { get }
    /// Whether removed and replaced records must leave no trace in the files.
    static var isSecret: Bool { get }
    /// The columns after `id` and `seal`: first those of the identity, then the others.
    static var identityColumns: [String] { get }
    static var contentColumns: [String] { get }

    /// In the order of the columns.
    static func values(of identity: Identity) -> [DatabaseValue]

    var identity: Identity { get }
    /// Whether the record is written to disk.
    var isPersistent: Bool { get }
    /// In the order of the columns.
    var content: [DatabaseValue] { get }

    /// Returns nil if the row is not a valid record.
    ///
    /// - Parameter row: One value per column.
    init?(row: [DatabaseValue])
}

extension ArchivedRecord {
    package static var isSecret: Bool { false }

    /// The table of the first version, with a unique index on the identity.
    ///
    /// Columns have no type, so values are not converted.
    static func makeTable(_ identity: [String], _ content: [String]) -> String {
        """
        CREATE TABLE \(table) (id INTEGER PRIMARY KEY, seal INTEGER NOT NULL, \
        \((identity.map { $0 + " NOT NULL" } + content).joined(separator: ", ")));
        CREATE UNIQUE INDEX \(table)_identity ON \(table) (\(identity.joined(separator: ", ")));
        """
    }
}

/// A change of the records of a store.
package enum RecordChange<Record: ArchivedRecord>: Sendable {
    /// Replaces the record with the same identity.
    case stored(Record)
    case removed(Record.Identity)
    case everythingRemoved
}

/// A conditional change: replaces a record if it is unchanged since it was read.
package struct RecordReplacement<Record: ArchivedRecord>: Sendable {
    package let old: Record
    /// With the same identity; nil removes the record.
    package let new: Record?

    package init(_ old: Record, new: Record?) {
        self.old = old
        self.new = new
    }

    /// The unconditional change.
    package var change: RecordChange<Record> { new.map { .stored($0) } ?? .removed(old.identity) }
}
