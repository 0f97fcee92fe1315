internal import Foundation
internal import LoadingStorage

/// The credentials of a storage by space and user. A value: its owner keeps the lock.
///
/// Spaces and credentials may be of the caller's own classes. So what they say of themselves was read before
/// (``KnownSpace``, ``KnownCredential``), and what departs is handed out, to be let go of when the lock is free.
struct CredentialTable: RecordMemory {
    typealias Change = RecordChange<PersistentCredential>

    /// What became of a call.
    struct Outcome {
        /// False if all was so already.
        var isChanged = false
        /// Objects that are not in the table any more.
        var departed: [Any] = []
    }

    /// What is known of one space. An entry has one credential at least.
    private struct Entry {
        let space: KnownSpace
        var credentials: [String: KnownCredential] = [:]
        /// What lasts of users who have a credential for this process alone, which goes before it.
        var hidden: [String: PersistentCredential] = [:]
        var defaultUser: String?
        /// Whether that was decided here since what lasts was taken over.
        var isDefaultNew = false
    }

    private var entries: [KnownSpace.Values: Entry] = [:]
    /// What is on its way into the table may have been removed before it comes.
    var removals = CredentialRemovals()

    var all: [(space: URLProtectionSpace, credentials: [String: URLCredential])] {
        entries.values.map { ($0.space.object, $0.credentials.mapValues(\.object)) }
    }

    func credentials(for space: KnownSpace.Values) -> [String: URLCredential]? {
        entries[space]?.credentials.mapValues(\.object)
    }

    func defaultCredential(for space: KnownSpace.Values) -> URLCredential? {
        guard let entry = entries[space], let user = entry.defaultUser else { return nil }
        return entry.credentials[user]?.object
    }

    /// Nil also for a user whose credential is not here.
    func defaultUser(for space: KnownSpace.Values) -> String? {
        guard let entry = entries[space], let user = entry.defaultUser else { return nil }
        return entry.credentials[user] == nil ? nil : user
    }

    /// When a credential that is stored becomes the default of its space.
    enum DefaultChoice {
        case always
        /// If the space has no default yet (AUTH-23).
        case ifThereIsNone
    }

    /// Keeps a credential in place of the same user's, also of what lasts of it. Adds what the file has to follow.
    ///
    /// - Parameter isAllKnown: Whether nothing lasts that is not in the table.
    mutating func set(
        _ credential: KnownCredential, for space: KnownSpace, asDefault choice: DefaultChoice, isAllKnown: Bool,
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
            // A record that could not be read yet may be the default, which takes precedence over an implied one.
            if choice == .always || isAllKnown { entry.isDefaultNew = true }
        }
        entries[space.values] = entry
        // What never lasted is nothing to a file.
        if isHiding || former?.values.isPersistent == true || credential.values.isPersistent || !isAllKnown {
            changes.append(change(of: user, in: space.values))
        }
        if let formerDefault, let record = record(of: formerDefault, in: space.values) {
            changes.append(.stored(record))
        }
        return Outcome(isChanged: true, departed: former.map { [$0 as Any] } ?? [])
    }

    /// Removes a credential, and with it what lasts of the same user.
    ///
    /// - Parameter isAllKnown: Whether nothing lasts that is not in the table.
    mutating func remove(
        _ credential: KnownCredential.Values, for space: KnownSpace.Values, isAllKnown: Bool,
        _ changes: inout [Change]
    ) -> Outcome {
        let user = credential.user
        guard var entry = entries[space], let former = entry.credentials[user] else {
            // What lasts may be there all the same: it could not be read, or others have stored it a moment ago.
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

    /// Removes everything, here and in the file.
    mutating func removeAll(_ changes: inout [Change]) -> Outcome {
        changes.append(.everythingRemoved)
        defer { entries = [:] }
        return Outcome(isChanged: !entries.isEmpty, departed: [entries])
    }

    func persistent(at now: Double) -> [PersistentCredential] {
        entries.flatMap { space, entry in
            entry.credentials.keys.compactMap { record(of: $0, in: space) } + entry.hidden.values
        }
    }

    mutating func replaceLasting(with records: [PersistentCredential], at now: Double) -> [Change] {
        var newDefaults: [KnownSpace.Values: String] = [:]
        var oldDefaults: [KnownSpace.Values: String] = [:]
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
        var defaults: [KnownSpace.Values: [PersistentCredential]] = [:]
        for record in records {
            let space = KnownSpace.Values(record.space)
            var entry = entries[space] ?? Entry(space: KnownSpace(record.space))
            // What is meant for this process alone goes before what is there for all.
            if entry.credentials[record.user]?.values.isPersistent == false {
                entry.hidden[record.user] = record
            } else {
                entry.credentials[record.user] = KnownCredential(record)
                if record.isDefault { defaults[space, default: []].append(record) }
            }
            entries[space] = entry
        }
        var changes: [Change] = []
        for (space, records) in defaults {
            // One that was decided here since is the last, and so is one that was not yet there before.
            let chosen =
                records.first { $0.user == newDefaults[space] } ?? records.first { $0.user != oldDefaults[space] }
                ?? records.first
            if entries[space]?.defaultUser == nil { entries[space]?.defaultUser = chosen?.user }
            // Two processes may have decided at once.
            if records.count == 1 { continue }
            for var record in records {
                record.isDefault = record.user == chosen?.user
                changes.append(.stored(record))
            }
        }
        return changes
    }

    /// How the file is to have that user's credential: as it is now, or not at all.
    private func change(of user: String, in space: KnownSpace.Values) -> Change {
        record(of: user, in: space).map { .stored($0) }
            ?? .removed(PersistentCredential.Identity(space: space.stored, user: user))
    }

    /// Nil for what does not last.
    private func record(of user: String, in space: KnownSpace.Values) -> PersistentCredential? {
        guard let entry = entries[space], let credential = entry.credentials[user]?.values, credential.isPersistent,
            let password = credential.password
        else { return nil }
        return PersistentCredential(
            space: space.stored, user: user, password: password, isDefault: entry.defaultUser == user)
    }
}
