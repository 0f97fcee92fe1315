public import Foundation
internal import LoadingEvents
internal import LoadingSemantics
package import LoadingStorage
internal import Synchronization

/// Keeps cookies and tells which of them belong to a request. May be used from any thread.
///
/// What a response may set, how many cookies there are and which of them a request carries goes by RFC 6265bis; what the
/// program itself sets is kept whatever its domain.
///
/// The storage of the process and those of groups last: cookies that have an end of their own are also kept in a file that
/// only this user may read, under `$XDG_DATA_HOME` or `~/.local/share`, in a folder named by the bundle's identifier or the
/// executable, or by the group. Several processes may use one. Where the file cannot be written, cookies are kept in memory,
/// and standard error says so. A storage that is made with ``init()`` is in memory alone.
///
/// A subclass may keep cookies elsewhere; the loader goes through ``storeCookies(_:for:)`` and
/// ``getCookiesFor(_:completionHandler:)``. After a change `NSHTTPCookieManagerCookiesChanged` is posted: on the thread
/// that made it, and for cookies of a response on a thread of the loader's.
open class HTTPCookieStorage: NSObject, @unchecked Sendable {
    // Sendable: all that varies is behind the lock, or the records' own.
    private let lock = Lock()
    /// Set before anybody else has the storage, and never again, so that nobody needs to look for overlapping accesses.
    @exclusivity(unchecked) private var records = PersistentRecords(CookieJar(suffixes: .system))
    /// The jar's. Set as those are.
    @exclusivity(unchecked) private var suffixes = PublicSuffixes.system
    /// Guarded by `lock`.
    private var policy = HTTPCookie.AcceptPolicy.always
    /// Guarded by `lock`. They leave with the lock of the records held: who finds none finds their cookies in the jar.
    private var early = EarlyCookies()
    /// Guarded by `lock`. Whether somebody has been asked to take those into the jar, and has not come to it yet.
    private var areEarlyOrdered = false
    /// Whether there are any, for who would take no lock to see that.
    private let hasEarly = Atomic(false)

    /// An empty storage of its own, in memory.
    public override init() {}

    /// A storage whose cookies last.
    ///
    /// - Parameter checkInterval: After how many seconds a read looks again for what others have done.
    package convenience init(
        in directory: StorageDirectory, checkInterval: Int = TimeLimits.standard.storeCheck
    ) {
        self.init()
        records = PersistentRecords(CookieJar(suffixes: .system), checkInterval: checkInterval, in: directory)
        records.onNews { [weak self] in self?.announceChangeLater() }
    }

    /// - Parameters:
    ///   - mayHold: Whether there may be any cookies. A few system calls.
    ///   - keeper: Makes what keeps them, on the storage's thread.
    convenience init(
        suffixes: PublicSuffixes = .system, checkInterval: Int = TimeLimits.standard.storeCheck,
        unlessEmpty mayHold: @escaping @Sendable () -> Bool,
        keeper: @escaping @Sendable () -> any RecordStore<Cookie>
    ) {
        self.init()
        self.suffixes = suffixes
        records = PersistentRecords(
            CookieJar(suffixes: suffixes), checkInterval: checkInterval, unlessEmpty: mayHold, keeper: keeper)
        records.onNews { [weak self] in self?.announceChangeLater() }
    }

    deinit {
        if records.isPersistent { ExitFlush.shared.remove(self) }
    }

    /// The storage of the process, which lasts.
    open class var shared: HTTPCookieStorage { sharedStorage }

    private static let sharedStorage = HTTPCookieStorage(in: .applicationData)
    private static let groups = GroupStorages()

    private final class GroupStorages: @unchecked Sendable {
        // Sendable because `storages` is guarded by `lock`, which is held while a storage is made.
        private let lock = Lock(.outer)
        private var storages: [String: HTTPCookieStorage] = [:]

        func storage(_ identifier: String) -> HTTPCookieStorage {
            lock.withLock {
                if let storage = storages[identifier] { return storage }
                let storage = HTTPCookieStorage(in: .group(identifier))
                storages[identifier] = storage
                return storage
            }
        }
    }

    /// The storage that goes by that name: the same object for the same name. Its cookies last, and are those of all programs
    /// of this user that use the name.
    open class func sharedCookieStorage(forGroupContainerIdentifier identifier: String) -> HTTPCookieStorage {
        groups.storage(identifier)
    }

    /// All cookies, the oldest first.
    open var cookies: [HTTPCookie]? {
        takeEarly()
        return records.read { $0.all(at: Self.now).filter { $0.partition == nil } }.map { HTTPCookie($0) }
    }

    /// Which cookies of responses are taken; all, unless set. A session's configuration has its own policy too, and
    /// both must agree.
    open var cookieAcceptPolicy: HTTPCookie.AcceptPolicy {
        get { lock.withLock { policy } }
        set { lock.withLock { policy = newValue } }
    }

    /// Keeps a cookie in place of one with the same name, domain and path. Has no effect if the policy is `never`.
    open func setCookie(_ cookie: HTTPCookie) {
        if cookieAcceptPolicy == .never { return }
        let cookie = Cookie(cookie, in: nil)
        change([cookie.domain]) { jar, changes in jar.insert(cookie, at: Self.now).isAdded(to: &changes) }
    }

    /// Removes the cookie with that name, domain and path.
    open func deleteCookie(_ cookie: HTTPCookie) {
        let identity = Cookie(cookie, in: nil).identity
        change([identity.domain]) { jar, changes in
            // The file may have it all the same: it could not be read, or others have stored it a moment ago.
            changes.append(.removed(identity))
            return jar.remove(identity)
        }
    }

    /// Removes the cookies made at or after that time.
    open func removeCookies(since date: Date) {
        let time = date.timeIntervalSince1970
        change([]) { jar, changes in
            let removed = jar.removeAll { $0.created >= time }
            if time <= 0 {
                // With what others have just stored, and all traces; but for cookies that claim to be older than that.
                changes.append(.everythingRemoved)
                changes += jar.persistent(at: Self.now).map { .stored($0) }
            } else {
                changes += removed.map { .removed($0) }
            }
            return !removed.isEmpty
        }
    }

    /// The cookies to send to an address: the longest path first, then the oldest.
    open func cookies(for URL: URL) -> [HTTPCookie]? { cookies(for: URL, document: nil, in: nil) }

    /// Keeps the cookies of a response as far as the policy and the rules for responses allow.
    ///
    /// - Parameter mainDocumentURL: the document the response belongs to; nil makes it first-party.
    open func setCookies(_ cookies: [HTTPCookie], for URL: URL?, mainDocumentURL: URL?) {
        store(cookies, from: URL.flatMap { CookieRequest($0, document: mainDocumentURL, partition: nil) })
    }

    /// How many cookies there are, and none of their values.
    open override var description: String { "<NSHTTPCookieStorage cookies count:\(cookies?.count ?? 0)>" }

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
        // Calls of subclasses see what the task is asked to keep; what it is for says each cookie of a response itself.
        if request.cookiePartitionIdentifier != nil || cookies.contains(where: { $0.origin != nil }) {
            store(cookies, from: CookieRequest(request))
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
        if request.cookiePartitionIdentifier != nil || request.mainDocumentURL != nil {
            completionHandler(
                cookies(for: url, document: request.mainDocumentURL, in: request.cookiePartitionIdentifier))
        } else {
            completionHandler(cookies(for: url))
        }
    }

    private func cookies(for url: URL, document: URL?, in partition: String?) -> [HTTPCookie] {
        guard let request = CookieRequest(url, document: document, partition: partition) else { return [] }
        takeEarly()
        if records.read({ $0.isEmpty }) { return [] }
        suffixes.waitUntilLoaded(for: request.hosts)
        return records.read { $0.cookies(for: request, at: Self.now) }.map { HTTPCookie($0) }
    }

    private func store(_ cookies: [HTTPCookie], from request: CookieRequest?) {
        let now = Self.now
        let policy = CookieAcceptPolicy(cookieAcceptPolicy)
        // The properties of a subclass are the caller's code, and not to be asked under the lock.
        let offers = cookies.compactMap { cookie in
            (cookie.origin ?? request).map { (cookie: Cookie(cookie, in: $0.partition), origin: $0) }
        }
        change(offers.flatMap(\.origin.hosts)) { jar, changes in
            var isChanged = false
            for offer in offers {
                let outcome = jar.store(offer.cookie, from: offer.origin, policy: policy, at: now)
                if outcome.isAdded(to: &changes) { isChanged = true }
            }
            return isChanged
        }
    }

    /// Changes the jar, and if that was a change tells the world after it.
    ///
    /// - Parameter hosts: Whose sites it asks for.
    private func change(_ hosts: [String], _ body: (inout CookieJar, inout [CookieChange]) -> Bool) {
        takeEarly()
        suffixes.waitUntilLoaded(for: hosts)
        if records.change(body) { announceChange() }
    }

    /// Takes what responses have set before the storage could be asked without waiting into the jar, in its order. Who comes
    /// first does it, and waits for what there is to read; if nothing is left, nobody waits.
    private func takeEarly() {
        if !hasEarly.load(ordering: .acquiring) { return }
        suffixes.waitUntilLoaded()
        var isChanged = false
        // One response at a time, so that nobody waits for all of them.
        while hasEarly.load(ordering: .acquiring) {
            let isTaken = records.change { jar, changes in
                guard let receipt = lock.withLock({ nextEarly() }) else { return false }
                return jar.receive(
                    receipt.fields, from: receipt.request, policy: receipt.policy, at: receipt.time, &changes)
            }
            if isTaken { isChanged = true }
        }
        if isChanged { announceChangeLater() }
    }

    /// With the lock held, and that of the records.
    private func nextEarly() -> EarlyCookies.Receipt? {
        let receipt = early.takeFirst()
        if early.isEmpty { hasEarly.store(false, ordering: .releasing) }
        return receipt
    }

    static var now: Double { Date().timeIntervalSince1970 }
}

/// What the loader asks of a storage that is no subclass.
extension HTTPCookieStorage {
    /// Whether it can be asked on a loop about what belongs to that request: nothing has to be read from a disk any more.
    /// What comes after cookies that wait has to wait behind them.
    func isLoaded(for request: CookieRequest) -> Bool {
        !hasEarly.load(ordering: .acquiring) && areSuffixesLoaded(for: request) && records.isLoaded
    }

    private func areSuffixesLoaded(for request: CookieRequest) -> Bool {
        if case .web(let document) = request.document, !suffixes.isLoaded(for: document.host) { return false }
        return suffixes.isLoaded(for: request.url.host)
    }

    /// Calls when it can, at once or on another thread. Who waits for the list of public suffixes finds all that responses have
    /// set meanwhile.
    func whenLoaded(for request: CookieRequest, _ body: @escaping @Sendable () -> Void) {
        if !hasEarly.load(ordering: .acquiring), areSuffixesLoaded(for: request) {
            records.whenLoaded(body)
        } else {
            whenAllLoaded { [self] in
                // Who is to do it may be behind in the row, or in the middle of it.
                takeEarly()
                body()
            }
        }
    }

    /// Calls when all has been read, in the order of asking.
    private func whenAllLoaded(_ body: @escaping @Sendable () -> Void) {
        suffixes.whenLoaded { [records] in records.whenLoaded(body) }
    }

    /// Whether it is known to have no cookies; nil if that cannot be told on a loop.
    var isEmptyIfLoaded: Bool? {
        hasEarly.load(ordering: .acquiring) ? nil : records.readIfLoaded { $0.isEmpty }
    }

    /// The value of the `Cookie` field of a request, or nil if it has none.
    func field(for request: CookieRequest) -> String? {
        Cookie.field(records.read { $0.cookies(for: request, at: Self.now) })
    }

    /// Does what the `Set-Cookie` fields of a response say, if the response may. True if that changed anything: then the
    /// caller announces it.
    func receive(_ fields: [String], from request: CookieRequest, policy: CookieAcceptPolicy) -> Bool {
        let now = Self.now
        let policy = policy.combined(with: CookieAcceptPolicy(cookieAcceptPolicy))
        return records.change { jar, changes in jar.receive(fields, from: request, policy: policy, at: now, &changes) }
    }

    /// The same as soon as the storage can be asked without waiting, and announces it. Everybody but a loop finds it done.
    func receiveWhenLoaded(_ fields: [String], from request: CookieRequest, policy: CookieAcceptPolicy) {
        // As it was when the response came, like the time.
        let policy = policy.combined(with: CookieAcceptPolicy(cookieAcceptPolicy))
        let receipt = EarlyCookies.Receipt(fields: fields, request: request, policy: policy, time: Self.now)
        let mustOrder = lock.withLock {
            early.add(receipt)
            if early.isEmpty { return false }
            hasEarly.store(true, ordering: .releasing)
            defer { areEarlyOrdered = true }
            return !areEarlyOrdered
        }
        guard mustOrder else { return }
        if records.isPersistent { ExitFlush.shared.add(self) }
        whenAllLoaded { [self] in
            lock.withLock { areEarlyOrdered = false }
            takeEarly()
        }
    }

    /// Of the fields that wait for that.
    var earlyFieldCount: Int { lock.withLock { early.fieldCount } }

    /// Calls when the file has all cookies so far that it is to have, or cannot have them. Does not wait itself.
    package func flush(_ done: @escaping @Sendable () -> Void) {
        guard hasEarly.load(ordering: .acquiring) else { return records.flush(done) }
        whenAllLoaded { [self] in
            takeEarly()
            records.flush(done)
        }
    }

    /// The world's code may wait for a thread that waits for the storage's own, so it is not called on that.
    func announceChangeLater() { Self.heralds.async { [self] in announceChange() } }

    private static let heralds = DispatchQueue(label: "url-cookie-news")

    /// Tells the world that the cookies have changed. Calls the world's code.
    func announceChange() {
        NotificationCenter.default.post(name: .NSHTTPCookieManagerCookiesChanged, object: self)
    }
}

private typealias CookieChange = RecordChange<Cookie>

extension CookieOutcome {
    /// Adds what the file has to follow. False if there was no change.
    fileprivate func isAdded(to changes: inout [CookieChange]) -> Bool {
        switch self {
        case .stored(let cookie, let evicted):
            changes += evicted.map { .removed($0) }
            changes.append(.stored(cookie))
            return true
        case .removed(let identity):
            changes.append(.removed(identity))
            return true
        case .nothing(let identity):
            // The file may have it all the same.
            changes.append(.removed(identity))
            return false
        case .refused: return false
        }
    }
}

extension CookieJar {
    /// Does what the fields of a response say. False if there was no change.
    fileprivate mutating func receive(
        _ fields: [String], from request: CookieRequest, policy: CookieAcceptPolicy, at now: Double,
        _ changes: inout [CookieChange]
    ) -> Bool {
        var isChanged = false
        for field in fields where receive(field, from: request, policy: policy, at: now).isAdded(to: &changes) {
            isChanged = true
        }
        return isChanged
    }
}

extension CookieJar: RecordMemory {
    func persistent(at now: Double) -> [Cookie] { all(at: now).filter { $0.expires != nil } }

    mutating func replaceLasting(with records: [Cookie], at now: Double) -> [RecordChange<Cookie>] {
        _ = removeAll { $0.expires != nil }
        var changes: [CookieChange] = []
        for cookie in records {
            switch insert(cookie, at: now) {
            case .stored(_, let evicted): changes += evicted.map { .removed($0) }
            case .nothing, .refused, .removed: changes.append(.removed(cookie.identity))
            }
        }
        return changes
    }
}

extension CookieAcceptPolicy {
    init(_ policy: HTTPCookie.AcceptPolicy) {
        self =
            switch policy {
            case .always: .always
            case .never: .never
            case .onlyFromMainDocumentDomain: .onlyFromMainDocumentDomain
            }
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

extension HTTPCookieStorage: FlushedStore {}
