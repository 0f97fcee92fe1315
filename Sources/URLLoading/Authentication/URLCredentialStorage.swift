public import Foundation
internal import LoadingSemantics
package import LoadingStorage
internal import Synchronization

/// An option of removal: take `synchronizable` credentials out too. A `Bool`.
public let NSURLCredentialStorageRemoveSynchronizableCredentials =
    "NSURLCredentialStorageRemoveSynchronizableCredentials"

/// Keeps credentials by protection space. May be used from any thread.
///
/// The storage of the process keeps `permanent` passwords in the user's keyring, if there is a Secret Service on the session
/// bus, and else in a file that only this user may read, under `$XDG_DATA_HOME` or `~/.local/share`, in a folder named by
/// the bundle's identifier or the executable. Everything else lives in memory, and so does all that is in a storage made
/// with ``init()``. Credentials of persistence `none` are not kept; `synchronizable` ones are refused, since nothing
/// carries them to other devices.
///
/// After each change `NSURLCredentialStorageChanged` is posted on the main thread.
open class URLCredentialStorage: NSObject, @unchecked Sendable {
    // Sendable: all that varies is in the records, or atomic.
    /// Set before anybody else has the storage, and never again, so that nobody needs to look for overlapping accesses.
    @exclusivity(unchecked) private var records = PersistentRecords(CredentialTable())
    /// Of removals, also of what was not there: what is on its way into the storage may have been meant. What they were of says
    /// the table.
    private let removals = Atomic(0)

    /// An empty storage of its own, in memory.
    public override init() {}

    /// A storage whose permanent passwords last.
    package convenience init(in directory: StorageDirectory) {
        let application = Program.identifier
        self.init {
            PersistentCredentialStore(in: directory, application: application).mayHold
        } keeper: {
            PersistentCredentialStore(in: directory, application: application, notify: StorageMessage.show)
        }
    }

    /// - Parameters:
    ///   - mayHold: Whether there may be any permanent passwords. A few system calls.
    ///   - keeper: Makes what keeps them, on the storage's thread.
    convenience init(
        checkInterval: Int = TimeLimits.standard.storeCheck, unlessEmpty mayHold: @escaping @Sendable () -> Bool,
        keeper: @escaping @Sendable () -> any RecordStore<PersistentCredential>
    ) {
        self.init()
        records = PersistentRecords(
            CredentialTable(), checkInterval: checkInterval, unlessEmpty: mayHold, keeper: keeper)
        records.onNews { [weak self] in self?.announceChange() }
    }

    /// The storage of the process, whose permanent passwords last.
    open class var shared: URLCredentialStorage { sharedStorage }

    private static let sharedStorage = URLCredentialStorage(in: .applicationData)

    /// Every credential, by space and user.
    open var allCredentials: [URLProtectionSpace: [String: URLCredential]] {
        let all = records.read { $0.all }
        return Dictionary(all.map { ($0.space, $0.credentials) }) { $1 }
    }

    /// The credentials of a space by user, or nil if there are none.
    open func credentials(for space: URLProtectionSpace) -> [String: URLCredential]? {
        let space = KnownSpace.Values(space)
        return records.read { $0.credentials(for: space) }
    }

    /// Keeps a credential in place of the same user's, whatever its persistence: one for the session removes a permanent one.
    /// In a space without a default credential it becomes the default.
    open func set(_ credential: URLCredential, for space: URLProtectionSpace) {
        keep(credential, for: space, asDefault: .ifThereIsNone)
    }

    /// Removes a credential, unless it is `synchronizable`: from memory, and the same user's from where it lasts.
    open func remove(_ credential: URLCredential, for space: URLProtectionSpace) {
        remove(credential, for: space, options: nil)
    }

    /// Removes a credential; a `synchronizable` one only with
    /// ``NSURLCredentialStorageRemoveSynchronizableCredentials`` set to true.
    open func remove(_ credential: URLCredential, for space: URLProtectionSpace, options: [String: Any]?) {
        if credential.persistence == .synchronizable {
            let isMeant = options?[NSURLCredentialStorageRemoveSynchronizableCredentials] as? Bool
            guard isMeant == true else { return }
        }
        guard let credential = KnownCredential(credential)?.values else { return }
        let space = KnownSpace.Values(space)
        let number = removals.add(1, ordering: .relaxed).newValue
        let isAllKnown = records.isAllKnown
        change { table, changes in
            table.removals.add(credential.user, in: space, number: number)
            return table.remove(credential, for: space, isAllKnown: isAllKnown, &changes)
        }
    }

    /// The credential to try first in a space: the one set as default, else the first that was set.
    open func defaultCredential(for space: URLProtectionSpace) -> URLCredential? {
        let space = KnownSpace.Values(space)
        return records.read { $0.defaultCredential(for: space) }
    }

    /// Makes a credential the default of a space, and keeps it if it is new.
    open func setDefaultCredential(_ credential: URLCredential, for space: URLProtectionSpace) {
        keep(credential, for: space, asDefault: .always)
    }

    /// Finds the credentials of a space for a task. What the loader calls. The handler is called at once, on the
    /// caller's thread; a subclass may call it later, from any thread.
    @preconcurrency open func getCredentials(
        for protectionSpace: URLProtectionSpace, task: URLSessionTask,
        completionHandler: @escaping @Sendable ([String: URLCredential]?) -> Void
    ) {
        completionHandler(credentials(for: protectionSpace))
    }

    /// Keeps a credential a task used. What the loader calls.
    open func set(_ credential: URLCredential, for protectionSpace: URLProtectionSpace, task: URLSessionTask) {
        set(credential, for: protectionSpace)
    }

    /// Removes a credential on a task's behalf. What the loader calls.
    open func remove(
        _ credential: URLCredential, for protectionSpace: URLProtectionSpace, options: [String: Any]?,
        task: URLSessionTask
    ) {
        remove(credential, for: protectionSpace, options: options)
    }

    /// Finds the default credential of a space for a task. What the loader calls. The handler is called at once, on
    /// the caller's thread; a subclass may call it later, from any thread.
    @preconcurrency open func getDefaultCredential(
        for space: URLProtectionSpace, task: URLSessionTask,
        completionHandler: @escaping @Sendable (URLCredential?) -> Void
    ) {
        completionHandler(defaultCredential(for: space))
    }

    /// Makes a credential the default on a task's behalf. What the loader calls.
    open func setDefaultCredential(
        _ credential: URLCredential, for protectionSpace: URLProtectionSpace, task: URLSessionTask
    ) {
        setDefaultCredential(credential, for: protectionSpace)
    }

    private func keep(
        _ credential: URLCredential, for space: URLProtectionSpace, asDefault: CredentialTable.DefaultChoice
    ) {
        guard let credential = KnownCredential(credential), credential.values.isKept else { return }
        let space = KnownSpace(space)
        let isAllKnown = records.isAllKnown
        change { table, changes in
            table.set(credential, for: space, asDefault: asDefault, isAllKnown: isAllKnown, &changes)
        }
    }

    /// Removes everything: also what could not be read, what others have stored since, and what a credential of the session
    /// hides (S-89).
    package func removeAll() {
        let number = removals.add(1, ordering: .relaxed).newValue
        change { table, changes in
            table.removals.addAll(number: number)
            return table.removeAll(&changes)
        }
    }

    /// How often something was removed so far.
    var removalCount: Int { removals.load(ordering: .relaxed) }

    /// Whether that user's credential was removed after so many removals.
    func hasRemoved(_ credential: URLCredential, for space: URLProtectionSpace, after count: Int) -> Bool {
        guard let user = KnownCredential(credential)?.values.user else { return false }
        let space = KnownSpace.Values(space)
        return records.read { $0.removals.hasAny(of: user, in: space, after: count) }
    }

    /// Keeps a credential that a server has accepted, unless it was removed after so many removals: as the default one, if
    /// that is no other user's.
    func keepAccepted(_ credential: URLCredential, for space: URLProtectionSpace, unlessRemovedAfter count: Int) {
        guard let credential = KnownCredential(credential), credential.values.isKept else { return }
        let space = KnownSpace(space)
        let isAllKnown = records.isAllKnown
        change { table, changes in
            let user = credential.values.user
            if table.removals.hasAny(of: user, in: space.values, after: count) { return CredentialTable.Outcome() }
            return table.set(credential, for: space, asDefault: .ifThereIsNone, isAllKnown: isAllKnown, &changes)
        }
    }

    private func change(
        _ body: (inout CredentialTable, inout [CredentialTable.Change]) -> CredentialTable.Outcome
    ) {
        // Who departs is let go of here, after the lock.
        if records.change(body).isChanged { announceChange() }
    }

    /// Calls when the file has all passwords so far that it is to have, or cannot have them.
    package func flush(_ done: @escaping @Sendable () -> Void) { records.flush(done) }

    /// Tells the world of a change, on the main thread.
    private func announceChange() {
        let post: @Sendable () -> Void = { [self] in
            NotificationCenter.default.post(name: .NSURLCredentialStorageChanged, object: self)
        }
        if Thread.isMainThread { post() } else { DispatchQueue.main.async(execute: post) }
    }
}

extension URLCredentialStorage {
    /// The credentials of a space for a task.
    public func credentials(
        for protectionSpace: URLProtectionSpace, task: URLSessionTask
    ) async -> [String: URLCredential]? {
        await withCheckedContinuation { continuation in
            getCredentials(for: protectionSpace, task: task) { continuation.resume(returning: $0) }
        }
    }

    /// The default credential of a space for a task.
    public func defaultCredential(for space: URLProtectionSpace, task: URLSessionTask) async -> URLCredential? {
        await withCheckedContinuation { continuation in
            getDefaultCredential(for: space, task: task) { continuation.resume(returning: $0) }
        }
    }
}

extension NSNotification.Name {
    /// Posted on the main thread when the credentials of a storage, the notification's object, have changed.
    public static let NSURLCredentialStorageChanged = NSNotification.Name("NSURLCredentialStorageChangedNotification")
}

extension URLCredentialStorage: FlushedStore {}
