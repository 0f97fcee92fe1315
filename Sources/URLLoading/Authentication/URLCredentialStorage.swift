public import Foundation
internal import LoadingEvents

/// An option of removal: take `synchronizable` credentials out too. A `Bool`.
public let NSURLCredentialStorageRemoveSynchronizableCredentials =
    "NSURLCredentialStorageRemoveSynchronizableCredentials"

/// Keeps credentials by protection space. May be used from any thread.
///
/// What is kept here lives in memory, `permanent` credentials too: it ends with the process. Credentials of
/// persistence `none` are not kept; `synchronizable` ones are refused, since nothing carries them to other devices.
/// After each change `NSURLCredentialStorageChanged` is posted on the main thread.
open class URLCredentialStorage: NSObject, @unchecked Sendable {
    // Sendable: all that varies is behind the lock.
    private let lock = Lock()
    /// Guarded by `lock`.
    private var entries: [URLProtectionSpace: Entry] = [:]

    private struct Entry {
        var credentials: [String: URLCredential] = [:]
        var defaultUser: String?
    }

    /// An empty storage of its own.
    public override init() {}

    /// The storage of the process.
    open class var shared: URLCredentialStorage { sharedStorage }

    private static let sharedStorage = URLCredentialStorage()

    /// Every credential, by space and user.
    open var allCredentials: [URLProtectionSpace: [String: URLCredential]] {
        lock.withLock { entries.mapValues(\.credentials) }
    }

    /// The credentials of a space by user, or nil if there are none.
    open func credentials(for space: URLProtectionSpace) -> [String: URLCredential]? {
        lock.withLock { entries[space]?.credentials }
    }

    /// Keeps a credential in place of the same user's.
    open func set(_ credential: URLCredential, for space: URLProtectionSpace) {
        keep(credential, for: space, asDefault: false)
    }

    /// Removes a credential, unless it is `synchronizable`.
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
        guard let user = credential.user else { return }
        change {
            guard var entry = entries[space], entry.credentials[user] == credential else { return false }
            entry.credentials[user] = nil
            if entry.defaultUser == user { entry.defaultUser = nil }
            entries[space] = entry.credentials.isEmpty ? nil : entry
            return true
        }
    }

    /// The credential to try first in a space: the one set as default.
    open func defaultCredential(for space: URLProtectionSpace) -> URLCredential? {
        lock.withLock {
            guard let entry = entries[space], let user = entry.defaultUser else { return nil }
            return entry.credentials[user]
        }
    }

    /// Makes a credential the default of a space, and keeps it if it is new.
    open func setDefaultCredential(_ credential: URLCredential, for space: URLProtectionSpace) {
        keep(credential, for: space, asDefault: true)
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

    private func keep(_ credential: URLCredential, for space: URLProtectionSpace, asDefault: Bool) {
        guard credential.persistence == .forSession || credential.persistence == .permanent,
            let user = credential.user
        else { return }
        change {
            var entry = entries[space] ?? Entry()
            let isSame = entry.credentials[user] == credential && (!asDefault || entry.defaultUser == user)
            entry.credentials[user] = credential
            if asDefault { entry.defaultUser = user }
            entries[space] = entry
            return !isSame
        }
    }

    /// Changes the entries under the lock and tells the world after it.
    private func change(_ body: () -> Bool) {
        guard lock.withLock(body) else { return }
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
