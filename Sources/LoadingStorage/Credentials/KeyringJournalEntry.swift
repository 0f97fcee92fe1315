/// A row of the credential file when a keyring is used: a change to make to the keyring when it is available again.
///
/// Without a keyring, the file contains the credentials themselves, as `stored` entries. So both modes use the same
/// file format (`CredentialArchive`). Other entries are rows that do not parse as credentials.
enum KeyringJournalEntry: Hashable, Sendable {
    enum Identity: Hashable, Sendable {
        case credential(PersistentCredential.Identity)
        case everything
        case keyring
    }

    case stored(PersistentCredential)
    case removed(PersistentCredential.Identity)
    /// All items that were in the keyring before the other entries were made.
    case everythingRemoved
    /// The keyring contains or contained items. Otherwise removals need no entry.
    case keyringUsed

    var stored: PersistentCredential? { if case .stored(let credential) = self { credential } else { nil } }

    /// The change to make to the keyring.
    var change: RecordChange<PersistentCredential>? {
        switch self {
        case .stored(let credential): .stored(credential)
        case .removed(let identity): .removed(identity)
        case .everythingRemoved: .everythingRemoved
        case .keyringUsed: nil
        }
    }
}

extension KeyringJournalEntry: ArchivedRecord {
    static var table: String { PersistentCredential.table }
    static var isSecret: Bool { true }
    static var identityColumns: [String] { PersistentCredential.identityColumns }
    static var contentColumns: [String] { PersistentCredential.contentColumns }
    static var schema: DatabaseSchema { PersistentCredential.schema }

    /// Marks an entry by an integer in the host column, where credentials have text.
    private static let everything = DatabaseValue.integer(1)
    private static let keyring = DatabaseValue.integer(2)

    static func values(of identity: Identity) -> [DatabaseValue] {
        switch identity {
        case .credential(let identity): PersistentCredential.values(of: identity)
        case .everything: [everything] + identityColumns.dropFirst().map { _ in .integer(0) }
        case .keyring: [keyring] + identityColumns.dropFirst().map { _ in .integer(0) }
        }
    }

    var identity: Identity {
        switch self {
        case .stored(let credential): .credential(credential.identity)
        case .removed(let identity): .credential(identity)
        case .everythingRemoved: .everything
        case .keyringUsed: .keyring
        }
    }

    var isPersistent: Bool { true }

    var content: [DatabaseValue] { stored?.content ?? Self.contentColumns.map { _ in .null } }

    init?(row: [DatabaseValue]) {
        guard row.count == Self.identityColumns.count + Self.contentColumns.count else { return nil }
        if let credential = PersistentCredential(row: row) {
            self = .stored(credential)
        } else if row[0] == Self.everything {
            self = .everythingRemoved
        } else if row[0] == Self.keyring {
            self = .keyringUsed
        } else if row[row.count - 2].isNull,
            let removed = PersistentCredential(row: row.dropLast(2) + [.text(""), .integer(0)])
        {
            self = .removed(removed.identity)
        } else {
            return nil
        }
    }
}
