internal import LoadingSemantics

/// The persistent credentials of an application: in the user's keyring if one is available, otherwise in a file that
/// only this user can read (AUTH-21).
///
/// While the keyring is unavailable, changes are recorded in the file as a journal, and applied before the next keyring
/// operation. The journal contains only changes that are newer than the last contact with the keyring, so it takes
/// precedence. Within the keyring, the item that was changed last takes precedence. While the file cannot be read, the
/// journal is unknown: the keyring is not changed, and changes wait in memory.
///
/// Used by one thread at a time.
package final class PersistentCredentialStore {
    package typealias Change = RecordChange<PersistentCredential>

    private let keyring: CredentialKeyring?
    private let file: RecordArchive<KeyringJournalEntry>
    private let notify: @Sendable (StorageMessage) -> Void

    /// The journal in the file; nil before it was read.
    private var journal: [KeyringJournalEntry.Identity: KeyringJournalEntry]?
    /// Applied entries that may still be in the file.
    private var applied: Set<KeyringJournalEntry> = []
    /// The last known contents of the keyring, for while it is unavailable.
    private var lastKnown: [PersistentCredential.Identity: PersistentCredential] = [:]
    /// Changes that wait until the journal can be read.
    private var pending = PendingChanges<PersistentCredential>()
    private var state = State.unknown

    /// After so many refused entries, the rest is not tried.
    private static let maximumRefusals = 8

    private enum State: Hashable {
        case unknown, available
        case unavailable
    }

    /// Accesses neither disk nor bus.
    ///
    /// - Parameters:
    ///   - application: The name of the application in the keyring; any text.
    ///   - timeout: The timeout of a keyring call, in milliseconds.
    ///   - environment: Returns the value of an environment variable. Without a bus address there is no keyring.
    package init(
        in directory: StorageDirectory, application: String, timeout: UInt32 = TimeLimits.standard.keyring,
        environment: (String) -> String? = StorageDirectory.variable,
        notify: @escaping @Sendable (StorageMessage) -> Void = { _ in }
    ) {
        keyring = CredentialKeyring(application: application, timeout: timeout, environment: environment)
        file = RecordArchive(in: directory, notify: notify)
        self.notify = notify
    }

    /// The path of the file, which may not exist.
    package var path: String { file.path }
    /// Why the file cannot be written; nil if it can.
    package var writeFailure: StorageFailure? { file.writeFailure }
    /// False if there are certainly no credentials. Does not contact the keyring: with a bus there may be one.
    package var mayHold: Bool { keyring != nil || file.mayHold }

    /// False while the keyring is unavailable.
    package var isLoadedCompletely: Bool { state != .unavailable }

    /// The contents of the keyring, or the last known ones, updated by the journal. Nil if the journal cannot be read.
    package func loadIfPossible() -> [PersistentCredential]? {
        guard readJournal() else { return nil }
        if !pending.isEmpty { applyPending() }
        guard let keyring else { return journaled() }
        let failure = applyJournal(to: keyring)
        if let failure, failure != .failed {
            didFail(failure)
            return known()
        }
        do throws(KeyringFailure) {
            lastKnown = Dictionary(try keyring.load().map { ($0.identity, $0) }) { $1 }
            if !lastKnown.isEmpty { recordUse() }
            if let failure { didFail(failure) } else { didReach() }
        } catch {
            didFail(error)
        }
        return known()
    }

    /// The same. If the journal cannot be read, uses what is known of it.
    package func load() -> [PersistentCredential] { loadIfPossible() ?? known() }

    /// Whether credentials may have changed since they were read. Changes by this object to the keyring count too. An
    /// unavailable keyring is contacted only by the next change or read. Costs a few system calls.
    package func hasExternalChanges() -> Bool {
        // Evaluates both, because each reports a change once.
        let inKeyring = keyring?.hasExternalChanges() ?? false
        return file.hasExternalChanges() || inKeyring
    }

    /// Whether the file was deleted while it contained the credentials, which is not the case if they are in the
    /// keyring.
    package func hasLostFile() -> Bool { file.hasLostFile() && state != .available }

    /// Makes the changes in the keyring or in the file.
    ///
    /// - Returns: False if they wait in memory.
    @discardableResult
    package func apply(_ changes: [Change]) -> Bool {
        pending.add(changes)
        return applyPending()
    }

    /// A keyring has no conditional changes, so with one the condition is ignored.
    @discardableResult
    package func correct(_ corrections: [RecordReplacement<PersistentCredential>]) -> Bool {
        if keyring != nil { return apply(corrections.map(\.change)) }
        journal = nil
        return file.correct(
            corrections.map { RecordReplacement(.stored($0.old), new: $0.new.map { .stored($0) }) })
    }

    @discardableResult
    private func applyPending() -> Bool {
        guard isJournalRead() else { return false }
        let changes = pending.take().list
        var rest = changes[...]
        if let keyring {
            var failure = applyJournal(to: keyring)
            while failure == nil, let change = rest.first {
                failure = attempt(change, in: keyring)
                if failure == nil { rest.removeFirst() }
            }
            if let failure { didFail(failure) } else if !changes.isEmpty { didReach() }
        }
        if rest.isEmpty { return file.flush() }
        return write(rest.flatMap(entry))
    }

    /// Retries pending changes. Returns true if none wait in memory any more.
    @discardableResult
    package func flush() -> Bool {
        if !pending.isEmpty { return applyPending() }
        if let keyring, hasPendingEntries, isJournalRead(), applyJournal(to: keyring) == nil { didReach() }
        return file.flush()
    }

    // MARK: Journal

    /// Returns false if the file cannot be read. The journal is then unchanged.
    private func readJournal() -> Bool {
        guard let found = file.loadIfPossible() else { return false }
        journal = Dictionary(found.map { ($0.identity, $0) }) { $1 }
        return true
    }

    /// Returns false if the file cannot be read.
    private func isJournalRead() -> Bool {
        // This check is cheap if there is no file.
        journal != nil && file.hasExternalChangesIfReadable() == false || readJournal()
    }

    /// The known credentials.
    private func known() -> [PersistentCredential] {
        if journal?[.everything] != nil { return journaled() }
        return lastKnown.values.filter { journal?[.credential($0.identity)] == nil } + journaled()
    }

    private func journaled() -> [PersistentCredential] { journal?.values.compactMap(\.stored) ?? [] }

    /// Whether the journal has changes to make to the keyring.
    private var hasPendingEntries: Bool { journal?.values.contains { $0.change != nil } ?? false }

    private func recordUse() {
        if journal?[.keyring] == nil { write([.stored(.keyringUsed)]) }
    }

    private func entry(_ change: Change) -> [RecordChange<KeyringJournalEntry>] {
        let isUsed = journal?[.keyring] != nil || !lastKnown.isEmpty
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
            case .stored(let entry): journal?[entry.identity] = entry
            case .removed(let identity): journal?[identity] = nil
            case .everythingRemoved: journal = [:]
            }
        }
        return file.apply(changes)
    }

    /// Applies the journal to the keyring. Entries that the keyring refuses stay.
    private func applyJournal(to keyring: CredentialKeyring) -> KeyringFailure? {
        var entries = (journal ?? [:]).values.filter { $0.change != nil && !applied.contains($0) }
        // It concerns only items from before the other entries.
        if let index = entries.firstIndex(of: .everythingRemoved) { entries.swapAt(0, index) }
        var failure: KeyringFailure?
        var refusals = 0
        for entry in entries {
            guard let change = entry.change else { continue }
            if let refusal = attempt(change, in: keyring) {
                failure = refusal
                refusals += 1
                // A refused entry does not block the others, except `everythingRemoved`, which must come first.
                if refusal != .failed || entry == .everythingRemoved || refusals == Self.maximumRefusals { break }
            } else {
                applied.insert(entry)
            }
        }
        removeApplied()
        return failure
    }

    /// Entries that another process has changed or added meanwhile stay.
    private func removeApplied() {
        guard !applied.isEmpty, file.removeUnchanged(applied) else { return }
        for entry in applied where journal?[entry.identity] == entry { journal?[entry.identity] = nil }
        applied = []
    }

    // MARK: The state of the keyring

    private func attempt(_ change: Change, in keyring: CredentialKeyring) -> KeyringFailure? {
        do throws(KeyringFailure) {
            if journal?[.keyring] == nil {
                try keyring.reach()
                // Before the change: if the process is killed in between, the journal must show that the keyring is in
                // use.
                recordUse()
            }
            try keyring.apply(change)
            switch change {
            case .stored(let credential): lastKnown[credential.identity] = credential
            case .removed(let identity): lastKnown[identity] = nil
            case .everythingRemoved: lastKnown = [:]
            }
            return nil
        } catch {
            return error
        }
    }

    private func didReach() {
        if state == .unavailable { notify(.keyringAvailable) }
        state = .available
    }

    private func didFail(_ failure: KeyringFailure) {
        // Many users with a session bus have no keyring, which is not worth a message.
        if state == .unknown, failure == .absent, journal?[.keyring] == nil { return }
        if state != .unavailable { notify(.keyringUnavailable(failure, path: path)) }
        state = .unavailable
    }
}
