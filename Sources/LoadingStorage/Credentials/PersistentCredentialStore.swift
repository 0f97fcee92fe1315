internal import LoadingSemantics

/// The permanent credentials of an application: in the user's keyring where there is one that answers, else in a file
/// for this user's eyes only (AUTH-21).
///
/// What cannot be done to the keyring is noted in the file, and done to the keyring when it can be reached again.
/// Which of two wins follows from that: the file has only what came after the keyring could be reached last, so what
/// it says holds, and what is removed stays removed. In the keyring itself the item that was changed last holds. Notes
/// are carried over before anything else is done to the keyring. While the file cannot be read nobody knows what they say:
/// then nothing is done to the keyring, and changes wait in memory.
///
/// Used by one thread at a time.
package final class PersistentCredentialStore {
    package typealias Change = RecordChange<PersistentCredential>

    private let keyring: CredentialKeyring?
    private let file: RecordArchive<KeyringJournalEntry>
    private let notify: @Sendable (StorageMessage) -> Void

    /// What the file is known to have; nil before it was read.
    private var notes: [KeyringJournalEntry.Identity: KeyringJournalEntry]?
    /// Notes that are done, but may still be in the file.
    private var done: Set<KeyringJournalEntry> = []
    /// What the keyring is known to have, for when it cannot be reached.
    private var kept: [PersistentCredential.Identity: PersistentCredential] = [:]
    /// Put off until the notes can be read.
    private var waiting = PendingChanges<PersistentCredential>()
    private var state = State.unknown

    /// Who refuses so many notes refuses them all.
    private static let mostRefusals = 8

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
        in directory: StorageDirectory, application: String, patience: UInt32 = TimeLimits.standard.keyring,
        environment: (String) -> String? = StorageDirectory.variable,
        notify: @escaping @Sendable (StorageMessage) -> Void = { _ in }
    ) {
        keyring = CredentialKeyring(application: application, patience: patience, environment: environment)
        file = RecordArchive(in: directory, notify: notify)
        self.notify = notify
    }

    /// Where the file is, or would be.
    package var path: String { file.path }
    /// Why nothing can be written to the file now; nil if all is well.
    package var trouble: StorageFailure? { file.trouble }
    /// False if there is surely nothing to load. Asks nobody: where there is a bus there may be a keyring.
    package var mayHold: Bool { keyring != nil || file.mayHold }

    /// What a keyring that is away has is not known.
    package var isLoadedWhole: Bool { state != .away }

    /// What is in the keyring, or was when it could be reached last, with the notes on top of it. Nil if those cannot be read
    /// now.
    package func loadIfPossible() -> [PersistentCredential]? {
        guard readNotes() else { return nil }
        if !waiting.isEmpty { settle() }
        guard let keyring else { return noted() }
        let failure = carryOver(to: keyring)
        if let failure, failure != .failed {
            isAway(failure)
            return known()
        }
        do throws(KeyringFailure) {
            kept = Dictionary(try keyring.load().map { ($0.identity, $0) }) { $1 }
            if !kept.isEmpty { noteUse() }
            if let failure { isAway(failure) } else { isReached() }
        } catch {
            isAway(error)
        }
        return known()
    }

    /// The same; if the notes cannot be read now, with those that are known.
    package func load() -> [PersistentCredential] { loadIfPossible() ?? known() }

    /// Whether there may be something that was not there when it was read. In the keyring what this object has changed
    /// counts too; a keyring that was away is asked again with the next change or reading only. Costs a few system
    /// calls.
    package func hasExternalChanges() -> Bool {
        // Both, since each is told once.
        let inKeyring = keyring?.hasExternalChanges() ?? false
        return file.hasExternalChanges() || inKeyring
    }

    /// Whether the file was removed while it had credentials. What is in the keyring does not go with it.
    package func hasLostFile() -> Bool { file.hasLostFile() && state != .reached }

    /// Has the changes in the keyring or in the file.
    ///
    /// - Returns: False if they wait in memory.
    @discardableResult
    package func apply(_ changes: [Change]) -> Bool {
        waiting.add(changes)
        return settle()
    }

    /// A keyring cannot be asked to do it only if something is still so.
    @discardableResult
    package func correct(_ corrections: [RecordReplacement<PersistentCredential>]) -> Bool {
        if keyring != nil { return apply(corrections.map(\.change)) }
        notes = nil
        return file.correct(
            corrections.map { RecordReplacement(.stored($0.old), new: $0.new.map { .stored($0) }) })
    }

    @discardableResult
    private func settle() -> Bool {
        guard areNotesRead() else { return false }
        let changes = waiting.take().list
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
        if !waiting.isEmpty { return settle() }
        if let keyring, hasDuties, areNotesRead(), carryOver(to: keyring) == nil { isReached() }
        return file.flush()
    }

    // MARK: Notes

    /// False if the file cannot be read now: then nothing else is known of it than before.
    private func readNotes() -> Bool {
        guard let found = file.loadIfPossible() else { return false }
        notes = Dictionary(found.map { ($0.identity, $0) }) { $1 }
        return true
    }

    /// Whether the notes are those of the file: false if it cannot be read now.
    private func areNotesRead() -> Bool {
        // Where there is no file it costs little to see that.
        notes != nil && file.hasExternalChangesIfReadable() == false || readNotes()
    }

    /// What is known to be kept.
    private func known() -> [PersistentCredential] {
        if notes?[.everything] != nil { return noted() }
        return kept.values.filter { notes?[.credential($0.identity)] == nil } + noted()
    }

    private func noted() -> [PersistentCredential] { notes?.values.compactMap(\.stored) ?? [] }

    /// Whether there is something to be done to the keyring.
    private var hasDuties: Bool { notes?.values.contains { $0.change != nil } ?? false }

    private func noteUse() {
        if notes?[.keyring] == nil { write([.stored(.keyringUsed)]) }
    }

    private func note(_ change: Change) -> [RecordChange<KeyringJournalEntry>] {
        let isUsed = notes?[.keyring] != nil || !kept.isEmpty
        return switch change {
        case .stored(let credential): [.stored(.stored(credential))]
        case .removed(let identity): isUsed ? [.stored(.removed(identity))] : [.removed(.credential(identity))]
        case .everythingRemoved:
            [.everythingRemoved] + (isUsed ? [.stored(.keyringUsed), .stored(.everythingRemoved)] : [])
        }
    }

    @discardableResult
    private func write(_ changes: [RecordChange<KeyringJournalEntry>]) -> Bool {
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
        var duties = (notes ?? [:]).values.filter { $0.change != nil && !done.contains($0) }
        // It is about what was there before the others.
        if let index = duties.firstIndex(of: .everythingRemoved) { duties.swapAt(0, index) }
        var failure: KeyringFailure?
        var refusals = 0
        for note in duties {
            guard let change = note.change else { continue }
            if let trouble = attempt(change, in: keyring) {
                failure = trouble
                refusals += 1
                // One that is refused does not hold up the others, unless it is about what was there before them.
                if trouble != .failed || note == .everythingRemoved || refusals == Self.mostRefusals { break }
            } else {
                done.insert(note)
            }
        }
        forgetDone()
        return failure
    }

    /// Another process may have changed a note meanwhile, or added one, which is then still to be done.
    private func forgetDone() {
        guard !done.isEmpty, file.removeUnchanged(done) else { return }
        for note in done where notes?[note.identity] == note { notes?[note.identity] = nil }
        done = []
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
            switch change {
            case .stored(let credential): kept[credential.identity] = credential
            case .removed(let identity): kept[identity] = nil
            case .everythingRemoved: kept = [:]
            }
            return nil
        } catch {
            return error
        }
    }

    private func isReached() {
        if state == .away { notify(.keyringAvailable) }
        state = .reached
    }

    private func isAway(_ failure: KeyringFailure) {
        // Many who have a bus have no keyring, and nothing to be told.
        if state == .unknown, failure == .absent, notes?[.keyring] == nil { return }
        if state != .away { notify(.keyringUnavailable(failure, path: path)) }
        state = .away
    }
}
