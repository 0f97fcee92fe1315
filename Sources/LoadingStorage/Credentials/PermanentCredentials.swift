/// The permanent credentials of an application: in the user's keyring where there is one that answers, else in a file
/// for this user's eyes only (AUTH-21).
///
/// What cannot be done to the keyring is noted in the file, and done to the keyring when it can be reached again.
/// Which of two wins follows from that: the file has only what came after the keyring could be reached last, so what
/// it says holds, and what is removed stays removed. In the keyring itself the item that was changed last holds. Notes
/// are carried over before anything else is done to the keyring.
///
/// Used by one thread at a time.
package final class PermanentCredentials {
    package typealias Change = RecordChange<StoredCredential>

    private let keyring: CredentialKeyring?
    private let file: RecordArchive<CredentialNote>
    private let tell: @Sendable (StorageMessage) -> Void

    /// What the file is known to have; nil before it was read.
    private var notes: [CredentialNote.Identity: CredentialNote]?
    private var state = State.unknown
    private var hasReached = false

    private enum State: Hashable {
        case unknown, reached
        case away
    }

    /// Touches no disk and speaks to nobody.
    ///
    /// - Parameters:
    ///   - application: What the application is known by in the keyring; any text.
    ///   - patience: How long to wait for an answer of the keyring, in milliseconds.
    ///   - environment: Gives the value of a variable. Without a bus in it there is no keyring.
    package init(
        in directory: StorageDirectory, application: String, patience: UInt32 = 10_000,
        environment: (String) -> String? = StorageDirectory.variable,
        tell: @escaping @Sendable (StorageMessage) -> Void = { _ in }
    ) {
        keyring = CredentialKeyring(application: application, patience: patience, environment: environment)
        file = RecordArchive(in: directory, tell: tell)
        self.tell = tell
    }

    /// Where the file is, or would be.
    package var path: String { file.path }
    /// Why nothing can be written to the file now; nil if all is well.
    package var trouble: StorageFailure? { file.trouble }
    /// False if there is surely nothing to load. Asks nobody: where there is a bus there may be a keyring.
    package var mayHold: Bool { keyring != nil || file.mayHold }

    /// Nil if it was in the keyring that cannot be reached any more: what is known of it is not to be forgotten for that.
    package func loadIfPossible() -> [StoredCredential]? {
        let found = load()
        return hasReached && state == .away ? nil : found
    }

    package func load() -> [StoredCredential] {
        readNotes()
        guard let keyring else { return noted() }
        let failure = carryOver(to: keyring)
        if let failure, failure != .failed {
            isAway(failure)
            return noted()
        }
        do throws(KeyringFailure) {
            let kept = try keyring.load()
            if !kept.isEmpty { noteUse() }
            if let failure { isAway(failure) } else { isReached() }
            if notes?[.everything] != nil { return noted() }
            return kept.filter { notes?[.credential($0.identity)] == nil } + noted()
        } catch {
            isAway(error)
            return noted()
        }
    }

    /// Whether there may be something that was not there when it was read. In the keyring what this object has changed
    /// counts too; a keyring that was away is asked again with the next change or reading only. Costs a few system
    /// calls.
    package func hasNews() -> Bool {
        // Both, since each is told once.
        let inKeyring = keyring?.hasNews() ?? false
        return file.hasNews() || inKeyring
    }

    /// Whether the file was removed while it had credentials. What is in the keyring does not go with it.
    package func hasLostFile() -> Bool { file.hasLostFile() && state != .reached }

    /// Has the changes in the keyring or in the file.
    ///
    /// - Returns: False if they wait in memory.
    @discardableResult
    package func apply(_ changes: [Change]) -> Bool {
        if notes == nil || file.hasNews() { readNotes() }
        var rest = changes[...]
        if let keyring {
            var failure = carryOver(to: keyring)
            while failure == nil, let change = rest.first {
                failure = attempt(change, in: keyring)
                if failure == nil { rest.removeFirst() }
            }
            if let failure { isAway(failure) } else if !changes.isEmpty { isReached() }
        }
        if rest.isEmpty { return file.flush() }
        return write(rest.flatMap(note))
    }

    /// Tries again what waits. True if nothing waits in memory any more.
    @discardableResult
    package func flush() -> Bool {
        if let keyring, hasDuties, carryOver(to: keyring) == nil { isReached() }
        return file.flush()
    }

    // MARK: Notes

    private func readNotes() {
        notes = Dictionary(file.load().map { ($0.identity, $0) }) { $1 }
    }

    private func noted() -> [StoredCredential] { notes?.values.compactMap(\.stored) ?? [] }

    /// Whether there is something to be done to the keyring.
    private var hasDuties: Bool { notes?.values.contains { $0.change != nil } ?? false }

    private func noteUse() {
        if notes?[.keyring] == nil { write([.stored(.keyringUsed)]) }
    }

    private func note(_ change: Change) -> [RecordChange<CredentialNote>] {
        let isUsed = notes?[.keyring] != nil
        return switch change {
        case .stored(let credential): [.stored(.stored(credential))]
        case .removed(let identity): isUsed ? [.stored(.removed(identity))] : [.removed(.credential(identity))]
        case .everythingRemoved:
            [.everythingRemoved] + (isUsed ? [.stored(.keyringUsed), .stored(.everythingRemoved)] : [])
        }
    }

    @discardableResult
    private func write(_ changes: [RecordChange<CredentialNote>]) -> Bool {
        for change in changes {
            switch change {
            case .stored(let note): notes?[note.identity] = note
            case .removed(let identity): notes?[identity] = nil
            case .everythingRemoved: notes = [:]
            }
        }
        return file.apply(changes)
    }

    /// Does to the keyring what the notes say. Those that remain then could not be done.
    private func carryOver(to keyring: CredentialKeyring) -> KeyringFailure? {
        var waiting = (notes ?? [:]).values.filter { $0.change != nil }
        if waiting.isEmpty { return nil }
        // It is about what was there before the others.
        if let index = waiting.firstIndex(of: .everythingRemoved) { waiting.swapAt(0, index) }
        var failure: KeyringFailure?
        var done: [CredentialNote] = []
        for note in waiting {
            guard let change = note.change else { continue }
            failure = attempt(change, in: keyring)
            if failure != nil { break }
            done.append(note)
        }
        forget(done)
        return failure
    }

    /// Another process may have changed a note meanwhile, which is then still to be done.
    private func forget(_ done: [CredentialNote]) {
        if done.isEmpty { return }
        if file.hasNews() { readNotes() }
        let gone = done.filter { notes?[$0.identity] == $0 }
        let remaining = (notes?.count ?? 0) - gone.count
        if remaining == (notes?[.keyring] == nil ? 0 : 1) {
            // So nothing of the passwords is left in any file.
            write([.everythingRemoved, .stored(.keyringUsed)])
        } else {
            write(gone.map { .removed($0.identity) })
        }
    }

    // MARK: The state of the keyring

    private func attempt(_ change: Change, in keyring: CredentialKeyring) -> KeyringFailure? {
        do throws(KeyringFailure) {
            if notes?[.keyring] == nil {
                try keyring.reach()
                // Before: who is killed in between must not leave something there that no note speaks of.
                noteUse()
            }
            try keyring.apply(change)
            return nil
        } catch {
            return error
        }
    }

    private func isReached() {
        if state == .away { tell(.keyringReached) }
        state = .reached
        hasReached = true
    }

    private func isAway(_ failure: KeyringFailure) {
        // Many who have a bus have no keyring, and nothing to be told.
        if state == .unknown, failure == .absent, notes?[.keyring] == nil { return }
        if state != .away { tell(.keyringAway(failure, path: path)) }
        state = .away
    }
}
