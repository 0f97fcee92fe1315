internal import Foundation
internal import LoadingStorage

/// The credentials of a storage by space and user. A value type: its owner has the lock.
///
/// Spaces and credentials may be of the program's subclasses. So their properties are read in advance
/// (``ProtectionSpaceSnapshot``, ``CredentialSnapshot``), and removed objects are returned, to be released after the
/// lock.
struct CredentialTable: RecordMemory {
    typealias Change = RecordChange<PersistentCredential>

    /// The result of a change.
    struct Outcome {
        /// Whether anything changed.
        var isChanged = false
        /// Objects that were removed from the table.
        var departed: [Any] = []
    }

    /// The credentials of one space, at least one.
    private struct Entry {
        let space: ProtectionSpaceSnapshot
        var credentials: [String: CredentialSnapshot] = [:]
        /// Permanent credentials that are shadowed by a session credential of the same user.
        var hidden: [String: PersistentCredential] = [:]
        var defaultUser: String?
        /// Whether the default was set here since the file was last adopted.
        var isDefaultNew = false
    }

    private var entries: [ProtectionSpaceSnapshot.Values: Entry] = [:]
    private var accepted = AcceptedCredentials()
    /// The latest removals, for credentials that are accepted later.
    var removals = CredentialRemovals()

    var all: [(space: URLProtectionSpace, credentials: [String: URLCredential])] {
        entries.values.map { ($0.space.object, $0.credentials.mapValues(\.object)) }
    }

    func credentials(for space: ProtectionSpaceSnapshot.Values) -> [String: URLCredential]? {
        entries[space]?.credentials.mapValues(\.object)
    }

    func defaultCredential(for space: ProtectionSpaceSnapshot.Values) -> URLCredential? {
        guard let entry = entries[space], let user = entry.defaultUser else { return nil }
        return entry.credentials[user]?.object
    }

    /// Nil also if the user has no credential here.
    func defaultUser(for space: ProtectionSpaceSnapshot.Values) -> String? {
        guard let entry = entries[space], let user = entry.defaultUser else { return nil }
        return entry.credentials[user] == nil ? nil : user
    }

    /// When a stored credential becomes the default of its space.
    enum DefaultChoice {
        case always
        /// If the space has no default yet (AUTH-23).
        case ifThereIsNone
    }

    /// Stores a credential of the program.
    mutating func set(
        _ credential: CredentialSnapshot, for space: ProtectionSpaceSnapshot, asDefault choice: DefaultChoice,
        isAllKnown: Bool, _ changes: inout [Change]
    ) -> Outcome {
        accepted.remove(.init(space: space.values, user: credential.values.user))
        return store(credential, for: space, asDefault: choice, isAllKnown: isAllKnown, &changes)
    }

    /// Stores a credential that a server has accepted, and evicts another one if there are too many. Becomes the
    /// default if there is none.
    mutating func keepAccepted(
        _ credential: CredentialSnapshot, for space: ProtectionSpaceSnapshot, isAllKnown: Bool,
        _ changes: inout [Change]
    ) -> Outcome {
        let user = credential.values.user
        // A credential that the program has stored stays.
        if entries[space.values]?.credentials[user]?.values == credential.values,
            !accepted.contains(.init(space: space.values, user: user))
        {
            return store(credential, for: space, asDefault: .ifThereIsNone, isAllKnown: isAllKnown, &changes)
        }
        var outcome = store(credential, for: space, asDefault: .ifThereIsNone, isAllKnown: isAllKnown, &changes)
        let evicted = accepted.add(
            .init(space: space.values, user: user), isPersistent: credential.values.isPersistent)
        if let evicted, let values = entries[evicted.space]?.credentials[evicted.user]?.values {
            outcome.departed += remove(values, for: evicted.space, isAllKnown: isAllKnown, &changes).departed
        }
        return outcome
    }

    /// Stores a credential, which replaces that of the same user, also the permanent one. Adds changes for the file.
    ///
    /// - Parameter isAllKnown: Whether the table contains all permanent credentials.
    private mutating func store(
        _ credential: CredentialSnapshot, for space: ProtectionSpaceSnapshot, asDefault choice: DefaultChoice,
        isAllKnown: Bool,
        _ changes: inout [Change]
    ) -> Outcome {
        var entry = entries[space.values] ?? Entry(space: space)
        let user = credential.values.user
        let asDefault =
            switch choice {
            case .always: true
            case .ifThereIsNone: defaultUser(for: space.values).map { $0 == user } ?? true
            }
        let former = entry.credentials[user]
        let isHiding = entry.hidden.removeValue(forKey: user) != nil
        if former?.values == credential.values, !isHiding, !asDefault || entry.defaultUser == user { return Outcome() }
        let formerDefault = asDefault && entry.defaultUser != user ? entry.defaultUser : nil
        entry.credentials[user] = credential
        if asDefault {
            entry.defaultUser = user
            // An unread record may be the default, which takes precedence over an implied one.
            if choice == .always || isAllKnown { entry.isDefaultNew = true }
        }
        entries[space.values] = entry
        // Session credentials are not in the file.
        if isHiding || former?.values.isPersistent == true || credential.values.isPersistent || !isAllKnown {
            changes.append(change(of: user, in: space.values))
        }
        if let formerDefault, let record = record(of: formerDefault, in: space.values) {
            changes.append(.stored(record))
        }
        return Outcome(isChanged: true, departed: former.map { [$0 as Any] } ?? [])
    }

    /// Removes a credential, and the permanent one of the same user.
    ///
    /// - Parameter isAllKnown: Whether the table contains all permanent credentials.
    mutating func remove(
        _ credential: CredentialSnapshot.Values, for space: ProtectionSpaceSnapshot.Values, isAllKnown: Bool,
        _ changes: inout [Change]
    ) -> Outcome {
        let user = credential.user
        accepted.remove(.init(space: space, user: user))
        guard var entry = entries[space], let former = entry.credentials[user] else {
            // The file may contain it although the table does not: it could not be read, or another process has just
            // stored it.
            if credential.isPersistent { changes.append(change(of: user, in: space)) }
            return Outcome()
        }
        let isShown = former.values == credential
        let hidden = entry.hidden[user]
        guard isShown || credential.isPersistent && hidden != nil && hidden?.password == credential.password else {
            if credential.isPersistent, !former.values.isPersistent, !isAllKnown {
                changes.append(change(of: user, in: space))
            }
            return Outcome()
        }
        var departed: [Any] = []
        entry.hidden[user] = nil
        if isShown {
            departed = [former, entry.space]
            entry.credentials[user] = nil
            if entry.defaultUser == user { entry.defaultUser = nil }
        }
        entries[space] = entry.credentials.isEmpty ? nil : entry
        if hidden != nil || former.values.isPersistent || !isAllKnown { changes.append(change(of: user, in: space)) }
        return Outcome(isChanged: true, departed: departed)
    }

    /// Removes all credentials, here and in the file.
    mutating func removeAll(_ changes: inout [Change]) -> Outcome {
        changes.append(.everythingRemoved)
        accepted = AcceptedCredentials()
        defer { entries = [:] }
        return Outcome(isChanged: !entries.isEmpty, departed: [entries])
    }

    func persistent(at now: Double) -> [PersistentCredential] {
        entries.flatMap { space, entry in
            entry.credentials.keys.compactMap { record(of: $0, in: space) } + entry.hidden.values
        }
    }

    mutating func replacePersistent(with records: [PersistentCredential], at now: Double) -> [Change] {
        var newDefaults: [ProtectionSpaceSnapshot.Values: String] = [:]
        var oldDefaults: [ProtectionSpaceSnapshot.Values: String] = [:]
        for (space, entry) in entries {
            var entry = entry
            if entry.isDefaultNew {
                newDefaults[space] = entry.defaultUser
            } else {
                oldDefaults[space] = entry.defaultUser
            }
            entry.isDefaultNew = false
            entry.hidden = [:]
            entry.credentials = entry.credentials.filter { !$0.value.values.isPersistent }
            if let user = entry.defaultUser, entry.credentials[user] == nil { entry.defaultUser = nil }
            entries[space] = entry.credentials.isEmpty ? nil : entry
        }
        var defaults: [ProtectionSpaceSnapshot.Values: [PersistentCredential]] = [:]
        for record in records {
            let space = ProtectionSpaceSnapshot.Values(record.space)
            var entry = entries[space] ?? Entry(space: ProtectionSpaceSnapshot(record.space))
            // Session credentials take precedence over permanent ones.
            if entry.credentials[record.user]?.values.isPersistent == false {
                entry.hidden[record.user] = record
            } else {
                entry.credentials[record.user] = CredentialSnapshot(record)
                if record.isDefault { defaults[space, default: []].append(record) }
            }
            entries[space] = entry
        }
        var changes: [Change] = []
        for (space, records) in defaults {
            // A default that was set here since, or that is new, is the latest.
            let chosen =
                records.first { $0.user == newDefaults[space] } ?? records.first { $0.user != oldDefaults[space] }
                ?? records.first
            if entries[space]?.defaultUser == nil { entries[space]?.defaultUser = chosen?.user }
            // Two processes may have set defaults concurrently.
            if records.count == 1 { continue }
            for var record in records {
                record.isDefault = record.user == chosen?.user
                changes.append(.stored(record))
            }
        }
        return changes
    }

    /// The change that makes the file match the user's current credential.
    private func change(of user: String, in space: ProtectionSpaceSnapshot.Values) -> Change {
        record(of: user, in: space).map { .stored($0) }
            ?? .removed(PersistentCredential.Identity(space: space.stored, user: user))
    }

    /// Nil for credentials that are not permanent.
    private func record(of user: String, in space: ProtectionSpaceSnapshot.Values) -> PersistentCredential? {
        guard let entry = entries[space], let credential = entry.credentials[user]?.values, credential.isPersistent,
            let password = credential.password
        else { return nil }
        return PersistentCredential(
            space: space.stored, user: user, password: password, isDefault: entry.defaultUser == user)
    }
}
