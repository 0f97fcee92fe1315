internal import Foundation
internal import LoadingStorage

/// The credentials of a storage by space and user. A value: its owner keeps the lock.
struct CredentialTable: RecordMemory {
    typealias Change = RecordChange<StoredCredential>

    /// What is known of one space. An entry has one credential at least.
    private struct Entry {
        var credentials: [String: URLCredential] = [:]
        var defaultUser: String?
    }

    private var entries: [URLProtectionSpace: Entry] = [:]

    var all: [URLProtectionSpace: [String: URLCredential]] { entries.mapValues(\.credentials) }

    func credentials(for space: URLProtectionSpace) -> [String: URLCredential]? { entries[space]?.credentials }

    func defaultCredential(for space: URLProtectionSpace) -> URLCredential? {
        guard let entry = entries[space], let user = entry.defaultUser else { return nil }
        return entry.credentials[user]
    }

    /// Keeps a credential in place of the same user's. Adds what the file has to follow.
    ///
    /// - Returns: False if all was so already.
    mutating func set(
        _ credential: URLCredential, of user: String, for space: URLProtectionSpace, asDefault: Bool,
        _ changes: inout [Change]
    ) -> Bool {
        var entry = entries[space] ?? Entry()
        if entry.credentials[user] == credential, !asDefault || entry.defaultUser == user { return false }
        let formerDefault = asDefault && entry.defaultUser != user ? entry.defaultUser : nil
        let wasLasting = entry.credentials[user]?.persistence == .permanent
        entry.credentials[user] = credential
        if asDefault { entry.defaultUser = user }
        entries[space] = entry
        // What never lasted is nothing to a file.
        if wasLasting || credential.persistence == .permanent { changes.append(change(of: user, in: space)) }
        if let formerDefault, let record = record(of: formerDefault, in: space) { changes.append(.stored(record)) }
        return true
    }

    /// - Returns: False if there was none.
    mutating func remove(
        _ credential: URLCredential, of user: String, for space: URLProtectionSpace, _ changes: inout [Change]
    ) -> Bool {
        guard var entry = entries[space], entry.credentials[user] == credential else { return false }
        entry.credentials[user] = nil
        if entry.defaultUser == user { entry.defaultUser = nil }
        entries[space] = entry.credentials.isEmpty ? nil : entry
        if credential.persistence == .permanent { changes.append(change(of: user, in: space)) }
        return true
    }

    var lasting: [StoredCredential] {
        entries.flatMap { space, entry in entry.credentials.keys.compactMap { record(of: $0, in: space) } }
    }

    mutating func replaceLasting(with records: [StoredCredential]) -> [Change] {
        for (space, entry) in entries {
            var entry = entry
            entry.credentials = entry.credentials.filter { $0.value.persistence != .permanent }
            if let user = entry.defaultUser, entry.credentials[user] == nil { entry.defaultUser = nil }
            entries[space] = entry.credentials.isEmpty ? nil : entry
        }
        for record in records {
            let space = URLProtectionSpace(record.space)
            var entry = entries[space] ?? Entry()
            // What is meant for this process alone goes before what is there for all.
            if entry.credentials[record.user] != nil { continue }
            entry.credentials[record.user] = URLCredential(
                user: record.user, password: record.password, persistence: .permanent)
            if record.isDefault, entry.defaultUser == nil { entry.defaultUser = record.user }
            entries[space] = entry
        }
        return []
    }

    /// How the file is to have that user's credential: as it is now, or not at all.
    private func change(of user: String, in space: URLProtectionSpace) -> Change {
        record(of: user, in: space).map { .stored($0) }
            ?? .removed(StoredCredential.Identity(space: StoredCredential.Space(space), user: user))
    }

    /// Nil for what does not last.
    private func record(of user: String, in space: URLProtectionSpace) -> StoredCredential? {
        guard let entry = entries[space], let credential = entry.credentials[user],
            credential.persistence == .permanent,
            let password = credential.password
        else { return nil }
        return StoredCredential(
            space: StoredCredential.Space(space), user: user, password: password, isDefault: entry.defaultUser == user)
    }
}

extension StoredCredential.Space {
    fileprivate init(_ space: URLProtectionSpace) {
        self.init(
            host: space.host, port: space.port, protocolName: space.protocol, realm: space.realm,
            authenticationMethod: space.authenticationMethod, proxyType: space.proxyType)
    }
}

extension URLProtectionSpace {
    fileprivate convenience init(_ space: StoredCredential.Space) {
        if let type = space.proxyType {
            self.init(
                proxyHost: space.host, port: space.port, type: type, realm: space.realm,
                authenticationMethod: space.authenticationMethod)
        } else {
            self.init(
                host: space.host, port: space.port, protocol: space.protocolName, realm: space.realm,
                authenticationMethod: space.authenticationMethod)
        }
    }
}
