internal import CLoadingSecretService
internal import LoadingSemantics

/// The permanent credentials of an application in the user's keyring.
///
/// Each is an item there, which the user finds by the host and the name. Items of other applications are not touched,
/// even if they are this library's. Every call may wait for other processes, and where the keyring is locked for the
/// user, but none for ever. A user who has declined to unlock it is not asked again until it was unlocked. Used by one
/// thread at a time.
package final class CredentialKeyring {
    package typealias Change = RecordChange<PersistentCredential>

    private let address: String
    private let patience: UInt32
    private let own: KeyringAttributes
    private var connection: OpaquePointer?
    private var isDeclined = false
    /// One that did not answer is left alone until then.
    private var silentUntil: ContinuousClock.Instant?
    /// Whether the connection was made for what is done now.
    private var isNew = false

    /// Nil where programs have no bus to speak on, and so no keyring. Speaks to nobody yet.
    ///
    /// - Parameters:
    ///   - application: What the application is known by; any text.
    ///   - patience: How long to wait for an answer, in milliseconds. Who has to ask the user is given a minute.
    ///   - environment: Gives the value of a variable.
    package init?(
        application: String, patience: UInt32 = TimeLimits.standard.keyring,
        environment: (String) -> String? = StorageDirectory.variable
    ) {
        guard let address = SessionBus.address(environment: environment) else { return nil }
        self.address = address
        self.patience = patience
        own = KeyringAttributes(application: application)
    }

    deinit { close() }

    /// Finds out whether it is there, locked or not.
    package func reach() throws(KeyringFailure) { try attempt { _ in } }

    package func load() throws(KeyringFailure) -> [PersistentCredential] {
        try attempt { (keyring) throws(KeyringFailure) in
            // Before, since what comes meanwhile is news.
            _ = cls_has_news(keyring)
            var newest: [PersistentCredential.Identity: (credential: PersistentCredential, modified: UInt64)] = [:]
            for item in try unlocked(own, in: keyring).all {
                guard let credential = item.credential else { continue }
                // Two there are only when a process was killed, or when the user has made another place for new items.
                if let other = newest[credential.identity], other.modified >= item.modified { continue }
                newest[credential.identity] = (credential, item.modified)
            }
            return newest.values.map(\.credential)
        }
    }

    /// Whether there may be something that was not there when it was read. What this object has changed counts too.
    /// Asks nobody, so as long as the keyring cannot be reached there is no news.
    package func hasExternalChanges() -> Bool { connection.map { cls_has_news($0) } ?? false }

    package func apply(_ change: Change) throws(KeyringFailure) {
        try attempt { (keyring) throws(KeyringFailure) in
            switch change {
            case .stored(let credential): try store(credential, in: keyring)
            case .removed(let identity): try remove(own.with(identity), from: keyring)
            case .everythingRemoved: try remove(own, from: keyring)
            }
        }
    }

    private func store(_ credential: PersistentCredential, in keyring: OpaquePointer) throws(KeyringFailure) {
        let isOpen = cls_is_open(keyring)
        if isOpen != CLS_LOCKED || isDeclined { try check(isOpen) }
        let attributes = own.with(credential.identity).with(isDefault: credential.isDefault)
        let label = Self.label(credential.identity)
        var password = credential.password
        let outcome = attributes.withCStrings { attributes in
            password.withUTF8 { cls_store(keyring, attributes, label, $0.baseAddress, $0.count, isOpen == CLS_LOCKED) }
        }
        isDeclined = outcome == CLS_LOCKED
        try check(outcome)
        // What has the same identity and is otherwise the default, or lies elsewhere.
        let items = try find(own.with(credential.identity), in: keyring)
        guard let kept = items.all.first(where: { $0.credential == credential }) else { throw .failed }
        for item in items.all where item.index != kept.index && !item.isLocked { try items.delete(item, from: keyring) }
    }

    /// For people.
    private static func label(_ identity: PersistentCredential.Identity) -> String {
        let host = identity.space.host
        return String((identity.user.isEmpty ? host : "\(host) (\(identity.user))").filter { $0 != "\0" })
    }

    private func remove(_ attributes: KeyringAttributes, from keyring: OpaquePointer) throws(KeyringFailure) {
        let items = try unlocked(attributes, in: keyring)
        for item in items.all { try items.delete(item, from: keyring) }
    }

    // MARK: Finding

    private func find(_ attributes: KeyringAttributes, in keyring: OpaquePointer) throws(KeyringFailure) -> KeyringItems
    {
        var found: OpaquePointer?
        try check(attributes.withCStrings { cls_find(keyring, $0, &found) })
        guard let found else { throw .failed }
        return KeyringItems(found)
    }

    /// Finds them, and has the user unlock what is locked.
    private func unlocked(
        _ attributes: KeyringAttributes, in keyring: OpaquePointer
    ) throws(KeyringFailure) -> KeyringItems {
        var items = try find(attributes, in: keyring)
        if items.hasLocked, !isDeclined {
            let outcome = items.unlock(in: keyring)
            isDeclined = outcome != CLS_DONE
            try check(outcome)
            items = try find(attributes, in: keyring)
        }
        if items.hasLocked {
            isDeclined = true
            throw .locked
        }
        // Where nothing was found nothing is known.
        if !items.all.isEmpty { isDeclined = false }
        // The service may have forgotten who asks, as it does when it is started anew. One that has just been asked
        // for a session does not want to notify.
        if items.hasWithoutSecret, !isNew { throw .failed }
        return items
    }

    // MARK: Reaching it

    /// Does it, and once more by a new connection if it fails. One who does not answer is not waited for twice.
    private func attempt<Result>(
        _ work: (OpaquePointer) throws(KeyringFailure) -> Result
    ) throws(KeyringFailure) -> Result {
        if let silentUntil, ContinuousClock.now < silentUntil { throw .silent }
        silentUntil = nil
        let wasOpen = connection != nil
        var isLast = false
        while true {
            isNew = connection == nil
            do throws(KeyringFailure) {
                return try work(try opened())
            } catch {
                // By an open connection the keyring tells when it is unlocked.
                if error != .locked { close() }
                if error == .silent {
                    let pause = TimeLimits.standard.keyringPauseFactor * Int64(patience)
                    silentUntil = ContinuousClock.now + .milliseconds(pause)
                }
                if isLast || error == .locked || error == .silent || (error == .absent && !wasOpen) { throw error }
                isLast = true
            }
        }
    }

    private func opened() throws(KeyringFailure) -> OpaquePointer {
        if let connection { return connection }
        var new: OpaquePointer?
        try check(cls_open(address, patience, &new))
        connection = new
        guard let new else { throw .failed }
        return new
    }

    private func close() {
        if let connection { cls_close(connection) }
        connection = nil
    }

    private func check(_ outcome: cls_outcome) throws(KeyringFailure) {
        switch outcome {
        case CLS_DONE: return
        case CLS_ABSENT: throw .absent
        case CLS_LOCKED: throw .locked
        case CLS_SILENT: throw .silent
        default: throw .failed
        }
    }
}
