public import Foundation
internal import LoadingSemantics
package import LoadingStorage
internal import Synchronization

/// A removal option: whether to remove `synchronizable` credentials too, a `Bool`.
public let NSURLCredentialStorageRemoveSynchronizableCredentials =
    "NSURLCredentialStorageRemoveSynchronizableCredentials"

/// Stores credentials by protection space. Thread-safe.
///
/// The storage of the process keeps `permanent` credentials in the user's keyring if the session bus has a Secret
/// Service, otherwise in a file that only the current user can read, under `$XDG_DATA_HOME` or `~/.local/share`, in a
/// folder named after the bundle identifier or the executable. Other credentials, and all of a storage created with
/// ``init()``, are in memory. Credentials with persistence `none` are not stored. `synchronizable` ones are refused,
/// because Linux has no service that synchronizes them.
///
/// After each change `NSURLCredentialStorageChanged` is posted on the main thread.
open class URLCredentialStorage: NSObject, @unchecked Sendable {
    // Sendable: the mutable state is in the records, or atomic.
    /// Set during initialization only, so exclusivity needs no checks.
    @exclusivity(unchecked) private var records = CredentialTable().records()
    /// The number of removals, including those of missing credentials, which may be accepted later. The table has their
    /// details.
    private let removals = Atomic(0)

    /// Creates an empty storage in memory.
    public override init() {}

    /// A storage with persistent permanent credentials.
    package convenience init(in directory: StorageDirectory, application: String = Program.identifier) {
        self.init {
            PersistentCredentialStore(in: directory, application: application).mayHold
        } recordStore: {
            PersistentCredentialStore(in: directory, application: application, notify: StorageMessage.show)
        }
    }

    /// - Parameters:
    ///   - mayHold: Whether there may be permanent credentials. Takes a few system calls.
    ///   - recordStore: Creates the record store, on the storage's thread.
    convenience init(
        checkInterval: Int = TimeLimits.standard.storeCheck, unlessEmpty mayHold: @escaping @Sendable () -> Bool,
        recordStore: @escaping @Sendable () -> any RecordStore<PersistentCredential>
    ) {
        self.init()
        records = CredentialTable().records(
            checkInterval: checkInterval, unlessEmpty: mayHold, recordStore: recordStore)
        records.onExternalChange { [weak self] in self?.announceChange() }
    }

    /// The shared storage of the process, with persistent permanent credentials.
    open class var shared: URLCredentialStorage { sharedStorage }

    private static let sharedStorage = URLCredentialStorage(in: .applicationData)

    /// All credentials, by space and user.
    open var allCredentials: [URLProtectionSpace: [String: URLCredential]] {
        let all = records.read { $0.all }
        return Dictionary(all.map { ($0.space, $0.credentials) }) { $1 }
    }

    /// The credentials of a space by user, or nil if there are none.
    open func credentials(for space: URLProtectionSpace) -> [String: URLCredential]? {
        let space = ProtectionSpaceSnapshot.Values(space)
        return records.read { $0.credentials(for: space) }
    }

    /// Stores a credential, which replaces that of the same user, whatever its persistence: a session credential
    /// removes a permanent one. In a space without a default credential it becomes the default.
    open func set(_ credential: URLCredential, for space: URLProtectionSpace) {
        keep(credential, for: space, asDefault: .ifThereIsNone)
    }

    /// Removes a credential, also the permanent one of the same user, unless it is `synchronizable`.
    open func remove(_ credential: URLCredential, for space: URLProtectionSpace) {
        remove(credential, for: space, options: nil)
    }

    /// Removes a credential. A `synchronizable` one is removed only if
    /// ``NSURLCredentialStorageRemoveSynchronizableCredentials`` is true.
    open func remove(_ credential: URLCredential, for space: URLProtectionSpace, options: [String: Any]?) {
        if credential.persistence == .synchronizable {
            let isMeant = options?[NSURLCredentialStorageRemoveSynchronizableCredentials] as? Bool
            guard isMeant == true else { return }
        }
        guard let credential = CredentialSnapshot(credential)?.values else { return }
        let space = ProtectionSpaceSnapshot.Values(space)
        let number = removals.add(1, ordering: .relaxed).newValue
        let isAllKnown = records.isAllKnown
        change { table, changes in
            table.removals.add(credential.user, in: space, number: number)
            return table.remove(credential, for: space, isAllKnown: isAllKnown, &changes)
        }
    }

    /// The default credential of a space: the one that was set as default, otherwise the first one.
    open func defaultCredential(for space: URLProtectionSpace) -> URLCredential? {
        let space = ProtectionSpaceSnapshot.Values(space)
        return records.read { $0.defaultCredential(for: space) }
    }

    /// Makes a credential the default of a space, and stores it if it is new.
    open func setDefaultCredential(_ credential: URLCredential, for space: URLProtectionSpace) {
        keep(credential, for: space, asDefault: .always)
    }

    /// Passes the credentials of a space for a task. The loader asks for the default credential only. The handler is
    /// called at once, on the calling thread; a subclass may call it later, on any thread.
    @preconcurrency open func getCredentials(
        for protectionSpace: URLProtectionSpace, task: URLSessionTask,
        completionHandler: @escaping @Sendable ([String: URLCredential]?) -> Void
    ) {
        completionHandler(credentials(for: protectionSpace))
    }

    /// Stores a credential that a task used. Called by the loader.
    open func set(_ credential: URLCredential, for protectionSpace: URLProtectionSpace, task: URLSessionTask) {
        set(credential, for: protectionSpace)
    }

    /// Removes a credential for a task. Called by the loader.
    open func remove(
        _ credential: URLCredential, for protectionSpace: URLProtectionSpace, options: [String: Any]?,
        task: URLSessionTask
    ) {
        remove(credential, for: protectionSpace, options: options)
    }

    /// Passes the default credential of a space for a task. Called by the loader. The handler is called at once, on the
    /// calling thread; a subclass may call it later, on any thread.
    @preconcurrency open func getDefaultCredential(
        for space: URLProtectionSpace, task: URLSessionTask,
        completionHandler: @escaping @Sendable (URLCredential?) -> Void
    ) {
        completionHandler(defaultCredential(for: space))
    }

    /// Makes a credential the default for a task. Called by the loader.
    open func setDefaultCredential(
        _ credential: URLCredential, for protectionSpace: URLProtectionSpace, task: URLSessionTask
    ) {
        setDefaultCredential(credential, for: protectionSpace)
    }

    private func keep(
        _ credential: URLCredential, for space: URLProtectionSpace, asDefault: CredentialTable.DefaultChoice
    ) {
        guard let credential = CredentialSnapshot(credential), credential.values.isKept else { return }
        let space = ProtectionSpaceSnapshot(space)
        let isAllKnown = records.isAllKnown
        change { table, changes in
            table.set(credential, for: space, asDefault: asDefault, isAllKnown: isAllKnown, &changes)
        }
    }

    /// Removes all credentials, including unread ones, those that other processes have stored since, and those shadowed
    /// by session credentials (S-89).
    package func removeAll() {
        let number = removals.add(1, ordering: .relaxed).newValue
        change { table, changes in
            table.removals.addAll(number: number)
            return table.removeAll(&changes)
        }
    }

    /// The number of removals so far.
    var removalCount: Int { removals.load(ordering: .relaxed) }

    /// Whether the user's credential was removed after that number of removals.
    func hasRemoved(_ credential: URLCredential, for space: URLProtectionSpace, after count: Int) -> Bool {
        guard let user = CredentialSnapshot(credential)?.values.user else { return false }
        let space = ProtectionSpaceSnapshot.Values(space)
        return records.read { $0.removals.hasAny(of: user, in: space, after: count) }
    }

    /// Stores a credential that a server has accepted, unless it was removed after that number of removals. It becomes
    /// the default, unless another user's is.
    func keepAccepted(_ credential: URLCredential, for space: URLProtectionSpace, unlessRemovedAfter count: Int) {
        guard let credential = CredentialSnapshot(credential), credential.values.isKept else { return }
        let space = ProtectionSpaceSnapshot(space)
        let isAllKnown = records.isAllKnown
        change { table, changes in
            let user = credential.values.user
            if table.removals.hasAny(of: user, in: space.values, after: count) { return CredentialTable.Outcome() }
            return table.keepAccepted(credential, for: space, isAllKnown: isAllKnown, &changes)
        }
    }

    private func change(
        _ body: (inout CredentialTable, inout [CredentialTable.Change]) -> CredentialTable.Outcome
    ) {
        // Removed objects are released here, after the lock.
        if records.change(body).isChanged { announceChange() }
    }

    /// Calls `done` when all permanent credentials so far have been written, or writing has failed.
    package func flush(_ done: @escaping @Sendable () -> Void) { records.flush(done) }

    /// Posts the notification, on the main thread.
    private func announceChange() {
        let post: @Sendable () -> Void = { [self] in
            NotificationCenter.default.post(name: .NSURLCredentialStorageChanged, object: self)
        }
        if Thread.isMainThread { post() } else { DispatchQueue.main.async(execute: post) }
    }
}

extension URLCredentialStorage {
    /// The credentials of a space for a task.
    @_disfavoredOverload
    public func credentials(
        for protectionSpace: URLProtectionSpace, task: URLSessionTask
    ) async -> [String: URLCredential]? {
        await firstAnswer { getCredentials(for: protectionSpace, task: task, completionHandler: $0) }
    }

    /// The default credential of a space for a task.
    @_disfavoredOverload
    public func defaultCredential(for space: URLProtectionSpace, task: URLSessionTask) async -> URLCredential? {
        await firstAnswer { getDefaultCredential(for: space, task: task, completionHandler: $0) }
    }
}

extension NSNotification.Name {
    /// Posted on the main thread when the credentials of a storage, the notification's object, have changed.
    public static let NSURLCredentialStorageChanged = NSNotification.Name("NSURLCredentialStorageChangedNotification")
}

extension URLCredentialStorage: FlushedStore {}
