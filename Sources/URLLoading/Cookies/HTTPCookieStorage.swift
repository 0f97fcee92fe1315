public import Foundation
internal import LoadingEvents

/// Keeps cookies and tells which of them belong to a request. May be used from any thread.
///
/// What is kept here lives in memory: it ends with the process. A subclass may keep cookies elsewhere; the loader
/// goes through ``storeCookies(_:for:)`` and ``getCookiesFor(_:completionHandler:)``. After each change
/// `NSHTTPCookieManagerCookiesChanged` is posted on the thread that made it.
open class HTTPCookieStorage: NSObject, @unchecked Sendable {
    // Sendable: all that varies is behind the lock.
    private let lock = Lock()
    /// Guarded by `lock`.
    private var jar = CookieJar()
    /// Guarded by `lock`.
    private var policy = HTTPCookie.AcceptPolicy.always

    /// An empty storage of its own.
    public override init() {}

    /// The storage of the process.
    open class var shared: HTTPCookieStorage { sharedStorage }

    private static let sharedStorage = HTTPCookieStorage()
    private static let groups = GroupStorages()

    private final class GroupStorages: @unchecked Sendable {
        private let lock = Lock()
        /// Guarded by `lock`.
        private var storages: [String: HTTPCookieStorage] = [:]

        func storage(_ identifier: String) -> HTTPCookieStorage {
            lock.withLock {
                if let storage = storages[identifier] { return storage }
                let storage = HTTPCookieStorage()
                storages[identifier] = storage
                return storage
            }
        }
    }

    /// The storage that goes by that name: the same object for the same name.
    open class func sharedCookieStorage(forGroupContainerIdentifier identifier: String) -> HTTPCookieStorage {
        groups.storage(identifier)
    }

    /// All cookies, the oldest first.
    open var cookies: [HTTPCookie]? { lock.withLock { jar.all } }

    /// Which cookies of responses are taken; all, unless set. A session's configuration has its own policy too, and
    /// both must agree.
    open var cookieAcceptPolicy: HTTPCookie.AcceptPolicy {
        get { lock.withLock { policy } }
        set { lock.withLock { policy = newValue } }
    }

    /// Keeps a cookie in place of one with the same name, domain and path. Has no effect if the policy is `never`.
    open func setCookie(_ cookie: HTTPCookie) { set([cookie], in: nil) }

    /// Removes the cookie with that name, domain and path.
    open func deleteCookie(_ cookie: HTTPCookie) {
        change { $0.remove(cookie, in: nil) }
    }

    /// Removes the cookies made at or after that time.
    open func removeCookies(since date: Date) {
        change { $0.removeAll { $0.created >= date } }
    }

    /// The cookies to send to an address: the longest path first, then the oldest.
    open func cookies(for URL: URL) -> [HTTPCookie]? { cookies(for: URL, in: nil) }

    /// Keeps the cookies of a response as far as the policy and their domains allow.
    ///
    /// - Parameter mainDocumentURL: the document the response belongs to; nil makes it first-party.
    open func setCookies(_ cookies: [HTTPCookie], for URL: URL?, mainDocumentURL: URL?) {
        set(acceptable(cookies, for: URL, mainDocumentURL: mainDocumentURL), in: nil)
    }

    /// All cookies in that order.
    open func sortedCookies(using sortOrder: [NSSortDescriptor]) -> [HTTPCookie] {
        (cookies ?? []).sorted { left, right in
            for descriptor in sortOrder {
                switch descriptor.compare(left, to: right) {
                case .orderedAscending: return true
                case .orderedDescending: return false
                case .orderedSame: continue
                }
            }
            return false
        }
    }

    /// Keeps the cookies of a response to a task. What the loader calls.
    open func storeCookies(_ cookies: [HTTPCookie], for task: URLSessionTask) {
        guard let request = task.currentRequest else { return }
        if let partition = request.cookiePartitionIdentifier {
            set(acceptable(cookies, for: request.url, mainDocumentURL: request.mainDocumentURL), in: partition)
        } else {
            setCookies(cookies, for: request.url, mainDocumentURL: request.mainDocumentURL)
        }
    }

    /// Finds the cookies to send with a task's request. What the loader calls. The handler is called at once, on the
    /// caller's thread; a subclass may call it later, from any thread.
    @preconcurrency open func getCookiesFor(
        _ task: URLSessionTask, completionHandler: @escaping @Sendable ([HTTPCookie]?) -> Void
    ) {
        guard let request = task.currentRequest, let url = request.url else { return completionHandler(nil) }
        if let partition = request.cookiePartitionIdentifier {
            completionHandler(cookies(for: url, in: partition))
        } else {
            completionHandler(cookies(for: url))
        }
    }

    private func cookies(for url: URL, in partition: String?) -> [HTTPCookie] {
        lock.withLock { jar.isEmpty ? [] : jar.cookies(for: url, in: partition, at: Date()) }
    }

    private func acceptable(_ cookies: [HTTPCookie], for url: URL?, mainDocumentURL: URL?) -> [HTTPCookie] {
        guard let host = url?.host?.lowercased() else { return [] }
        if cookieAcceptPolicy == .onlyFromMainDocumentDomain, let mainDocumentURL {
            guard let mainHost = mainDocumentURL.host?.lowercased(),
                mainHost == host || mainHost.hasSuffix("." + host)
            else { return [] }
        }
        return cookies.filter { CookieJar.matches(host: host, domain: $0.domain) }
    }

    private func set(_ cookies: [HTTPCookie], in partition: String?) {
        let now = Date()
        change { jar in
            guard policy != .never else { return false }
            var didChange = false
            for cookie in cookies where jar.set(cookie, in: partition, at: now) { didChange = true }
            return didChange
        }
    }

    /// Changes the jar under the lock and tells the world after it.
    private func change(_ body: (inout CookieJar) -> Bool) {
        guard lock.withLock({ body(&jar) }) else { return }
        NotificationCenter.default.post(name: .NSHTTPCookieManagerCookiesChanged, object: self)
    }
}

extension HTTPCookieStorage {
    /// The cookies to send with a task's request.
    public func cookies(for task: URLSessionTask) async -> [HTTPCookie]? {
        await withCheckedContinuation { continuation in
            getCookiesFor(task) { continuation.resume(returning: $0) }
        }
    }
}

extension NSNotification.Name {
    /// Posted when the cookies of a storage, the notification's object, have changed.
    public static let NSHTTPCookieManagerCookiesChanged = NSNotification.Name(
        "NSHTTPCookieManagerCookiesChangedNotification")

    /// Never posted, as on Apple platforms.
    public static let NSHTTPCookieManagerAcceptPolicyChanged = NSNotification.Name(
        "NSHTTPCookieManagerAcceptPolicyChangedNotification")
}
