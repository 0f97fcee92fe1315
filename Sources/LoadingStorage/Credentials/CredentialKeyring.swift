internal import CLoadingSecretService
internal import LoadingSemantics

/// The persistent credentials of an application in the user's keyring.
///
/// Each credential is an item, labelled with host and user. Items of other applications are not touched, even if they
/// were made by this library. Every call may wait for other processes, and for the user to unlock a collection, but
/// only for a bounded time. After the user has declined to unlock, the keyring does not prompt again until it was
/// unlocked by other means. Used by one thread at a time.
package final class CredentialKeyring {
    package typealias Change = RecordChange<PersistentCredential>

    private let address: String
    private let timeout: UInt32
    private let own: KeyringAttributes
    private var connection: OpaquePointer?
    private var isDeclined = false
    /// Set after a timeout: the keyring is not used until then.
    private var silentUntil: ContinuousClock.Instant?
    /// Whether the connection was opened for the current operation.
    private var isNew = false

    /// Returns nil without a session bus, and so without a keyring. Does not connect yet.
    ///
    /// - Parameters:
    ///   - application: The name of the application; any text.
    ///   - timeout: The timeout of a call, in milliseconds. Prompts have a timeout of one minute.
    ///   - environment: Returns the value of an environment variable.
    package init?(
        application: String, timeout: UInt32 = TimeLimits.standard.keyring,
        environment: (String) -> String? = StorageDirectory.variable
    ) {
        guard let address = SessionBus.address(environment: environment) else { return nil }
        self.address = address
        self.timeout = timeout
        own = KeyringAttributes(application: application)
    }

    deinit { close() }

    /// Checks that the keyring is available, locked or not.
    package func reach() throws(KeyringFailure) { try attempt { _ in } }

    package func load() throws(KeyringFailure) -> [PersistentCredential] {
        try attempt { (keyring) throws(KeyringFailure) in
            // Before reading, because later changes must be detected.
            _ = cls_has_news(keyring)
            var newest: [PersistentCredential.Identity: (credential: PersistentCredential, modified: UInt64)] = [:]
            for item in try unlocked(own, in: keyring).all {
                guard let credential = item.credential else { continue }
                // Duplicates exist only if a process was killed, or if the user selected another default collection.
                if let other = newest[credential.identity], other.modified >= item.modified { continue }
                newest[credential.identity] = (credential, item.modified)
            }
            return newest.values.map(\.credential)
        }
    }

    /// Whether items may have changed since they were read, including by this object. Does not contact the keyring, so
    /// false while it is unavailable.
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
        // Items with the same identity and another default flag, or in another collection.
        let items = try find(own.with(credential.identity), in: keyring)
        guard let kept = items.all.first(where: { $0.credential == credential }) else { throw .failed }
        for item in items.all where item.index != kept.index && !item.isLocked { try items.delete(item, from: keyring) }
    }

    /// Displayed by keyring applications.
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

    /// Finds items, and prompts the user to unlock them if necessary.
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
        // If nothing was found, the state of the collection is unknown.
        if !items.all.isEmpty { isDeclined = false }
        // A restarted service has lost the session, and returns no secrets. With a new session, a missing secret
        // means that the service refuses.
        if items.hasWithoutSecret, !isNew { throw .failed }
        return items
    }

    // MARK: Reaching it

    /// Runs `work`, and repeats it once with a new connection if it fails. After a timeout it is not repeated.
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
                // The connection stays open while the keyring is locked, because it reports the unlocking.
                if error != .locked { close() }
                if error == .silent {
                    let pause = TimeLimits.standard.keyringPauseFactor * Int64(timeout)
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
        try check(cls_open(address, timeout, &new))
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
