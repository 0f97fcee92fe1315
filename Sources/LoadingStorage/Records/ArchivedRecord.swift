/// What a `RecordArchive` keeps: a value with an identity, of which a store has one at most.
package protocol ArchivedRecord: Sendable, Hashable {
    associatedtype Identity: Hashable, Sendable

    static var design: DatabaseDesign { get }
    static var table: String { get }
    /// Whether nothing of one may be left in a file once it is removed, or another is in its place.
    static var isSecret: Bool { get }
    /// The columns behind `id` and `seal`: those that are the identity, and then the others.
    static var identityColumns: [String] { get }
    static var contentColumns: [String] { get }

    /// In the order of the columns.
    static func values(of identity: Identity) -> [DatabaseValue]

    var identity: Identity { get }
    /// Whether it outlives the process.
    var isPersistent: Bool { get }
    /// In the order of the columns.
    var content: [DatabaseValue] { get }

    /// Nil for what can be no record.
    ///
    /// - Parameter row: One value for each column.
    init?(row: [DatabaseValue])
}

extension ArchivedRecord {
    package static var isSecret: Bool { false }

    /// The table of the first version, with one row for each identity.
    ///
    /// Columns have no types, so that each value comes back as what it was.
    static func makeTable(_ identity: [String], _ content: [String]) -> String {
        """
        CREATE TABLE \(table) (id INTEGER PRIMARY KEY, seal INTEGER NOT NULL, \
        \((identity.map { $0 + " NOT NULL" } + content).joined(separator: ", ")));
        CREATE UNIQUE INDEX \(table)_identity ON \(table) (\(identity.joined(separator: ", ")));
        """
    }
}

/// What has happened to the records of a store.
package enum RecordChange<Record: ArchivedRecord>: Sendable {
    /// In place of what had its identity.
    case stored(Record)
    case removed(Record.Identity)
    case everythingRemoved
}
