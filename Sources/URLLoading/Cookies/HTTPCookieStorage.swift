public import Foundation
internal import LoadingEvents
internal import LoadingSemantics
package import LoadingStorage
internal import Synchronization

/// Stores cookies and selects those of a request. Thread-safe.
///
/// RFC 6265bis determines which cookies a response may set, the limits, and which cookies a request has. Cookies that
/// the program sets are stored for any domain.
///
/// The storage of the process and those of groups are persistent: cookies with an expiry are also written to a file
/// that only the current user can read, under `$XDG_DATA_HOME` or `~/.local/share`, in a folder named after the bundle
/// identifier, the executable, or the group. Several processes can share a file. If the file cannot be written, a
/// message is written to standard error. A storage created with ``init()`` is in memory only.
///
/// A subclass can store cookies elsewhere: the loader calls ``storeCookies(_:for:)`` and
/// ``getCookiesFor(_:completionHandler:)``. After each change `NSHTTPCookieManagerCookiesChanged` is posted, on the
/// thread that made the change, and for cookies of responses on a thread of the loader.
open class HTTPCookieStorage: NSObject, @unchecked Sendable {
    // Sendable: the mutable state is guarded by `lock`, or belongs to the records.
    private let lock = Lock()
    /// Set during initialization only, so exclusivity needs no checks.
    @exclusivity(unchecked) private var records = CookieJar(suffixes: .system).records()
    /// The suffix list of the jar. Set during initialization only.
    @exclusivity(unchecked) private var suffixes = PublicSuffixes.system
    /// The identifier of a group's storage.
    @exclusivity(unchecked) private(set) var group: String?
    /// Guarded by `lock`.
    private var policy = HTTPCookie.AcceptPolicy.always
    /// Guarded by `lock`. Entries are removed with the records' lock held: if there are none, their cookies are in the
    /// jar.
    private var early = EarlyCookies()
    /// Guarded by `lock`. Whether the transfer of the early cookies into the jar is pending.
    private var areEarlyOrdered = false
    /// Whether there are early cookies, readable without the lock.
    private let hasEarly = Atomic(false)

    /// Creates an empty storage in memory.
    public override init() {}

    /// A persistent storage.
    ///
    /// - Parameter checkInterval: The interval in seconds at which reads check for changes of other processes.
    package convenience init(
        in directory: StorageDirectory, checkInterval: Int = TimeLimits.standard.storeCheck
    ) {
        self.init()
        records = CookieJar(suffixes: .system).records(in: directory, checkInterval: checkInterval)
        records.onExternalChange { [weak self] in self?.announceChangeLater() }
    }

    /// - Parameters:
    ///   - mayHold: Whether there may be stored cookies. Takes a few system calls.
    ///   - recordStore: Creates the record store, on the storage's thread.
    convenience init(
        suffixes: PublicSuffixes = .system, checkInterval: Int = TimeLimits.standard.storeCheck,
        unlessEmpty mayHold: @escaping @Sendable () -> Bool,
        recordStore: @escaping @Sendable () -> any RecordStore<Cookie>
    ) {
        self.init()
        self.suffixes = suffixes
        records = CookieJar(suffixes: suffixes).records(
            checkInterval: checkInterval, unlessEmpty: mayHold, recordStore: recordStore)
        records.onExternalChange { [weak self] in self?.announceChangeLater() }
    }

    deinit {
        if records.isPersistent { ExitFlush.shared.remove(self) }
    }

    /// The persistent storage of the process.
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
                storage.group = identifier
                storages[identifier] = storage
                return storage
            }
        }
    }

    /// The persistent storage with a name, the same object for the same name. All programs of the current user that use
    /// the name share its cookies.
    open class func sharedCookieStorage(forGroupContainerIdentifier identifier: String) -> HTTPCookieStorage {
        groups.storage(identifier)
    }

    /// All cookies, the oldest first.
    open var cookies: [HTTPCookie]? {
        takeEarly()
        return records.read { $0.all(at: Self.now).filter { $0.partition == nil } }.map { HTTPCookie($0) }
    }

    /// Which cookies of responses are accepted. The default is all. The policy of a session's configuration applies
    /// too.
    open var cookieAcceptPolicy: HTTPCookie.AcceptPolicy {
        get { lock.withLock { policy } }
        set { lock.withLock { policy = newValue } }
    }

    /// Stores a cookie, which replaces one with the same name, domain and path. No effect if the policy is `never`.
    open func setCookie(_ cookie: HTTPCookie) {
        if cookieAcceptPolicy == .never { return }
        let cookie = Cookie(cookie, in: nil)
        change([cookie.domain]) { jar, changes in jar.insert(cookie, at: Self.now).isAdded(to: &changes) }
    }

    /// Removes the cookie with that name, domain and path.
    open func deleteCookie(_ cookie: HTTPCookie) {
        let identity = Cookie(cookie, in: nil).identity
        change([identity.domain]) { jar, changes in
            // The file may contain it although the memory does not: it could not be read, or another process has just
            // stored it.
            changes.append(.removed(identity))
            return jar.remove(identity)
        }
    }

    /// Removes the cookies created at or after that time.
    open func removeCookies(since date: Date) {
        let time = date.timeIntervalSince1970
        change([]) { jar, changes in
            let removed = jar.removeAll { $0.created >= time }
            if time <= 0 {
                // Including cookies that other processes have just stored, and erased from the file; except cookies
                // with an earlier creation time.
                changes.append(.everythingRemoved)
                changes += jar.persistent(at: Self.now).map { .stored($0) }
            } else {
                changes += removed.map { .removed($0) }
            }
            return !removed.isEmpty
        }
    }

    /// The cookies for a URL: longest path first, then oldest first.
    open func cookies(for URL: URL) -> [HTTPCookie]? { cookies(for: URL, document: nil, in: nil) }

    /// Stores the cookies of a response, as far as the policy and the rules for responses allow.
    ///
    /// - Parameters:
    ///   - cookies: The cookies of the response.
    ///   - URL: The URL of the response. Without one nothing is stored.
    ///   - mainDocumentURL: The main document of the response; nil makes it first-party.
    open func setCookies(_ cookies: [HTTPCookie], for URL: URL?, mainDocumentURL: URL?) {
        store(cookies, from: URL.flatMap { CookieRequest($0, document: mainDocumentURL, partition: nil) })
    }

    /// The number of cookies, without their values.
    open override var description: String { "<NSHTTPCookieStorage cookies count:\(cookies?.count ?? 0)>" }

    /// All cookies, sorted.
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

    /// Stores the cookies of a task's response. Called by the loader.
    open func storeCookies(_ cookies: [HTTPCookie], for task: URLSessionTask) {
        guard let request = task.currentRequest else { return }
        // A subclass may override the other method, which knows of no partitions.
        let isPlain = type(of: self) == HTTPCookieStorage.self
        // Each cookie of a response has its request, so the task is not needed here.
        if request.cookiePartitionIdentifier != nil || isPlain && cookies.contains(where: { $0.origin != nil }) {
            store(cookies, from: CookieRequest(request))
        } else {
            setCookies(cookies, for: request.url, mainDocumentURL: request.mainDocumentURL)
        }
    }

    /// Passes the cookies for a task's request. Called by the loader. The handler is called at once, on the calling
    /// thread; a subclass may call it later, on any thread.
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
        // Properties of subclasses are the program's code, so they are read outside the lock.
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

    /// Changes the jar, and posts the notification after an actual change.
    ///
    /// - Parameter hosts: The hosts whose sites are needed.
    private func change(_ hosts: [String], _ body: (inout CookieJar, inout [CookieChange]) -> Bool) {
        takeEarly()
        suffixes.waitUntilLoaded(for: hosts)
        if records.change(body) { announceChange() }
    }

    /// Transfers the early cookies of responses into the jar, in order. The first caller does it, and blocks until file
    /// and suffix list are read.
    private func takeEarly() {
        if !hasEarly.load(ordering: .acquiring) { return }
        suffixes.waitUntilLoaded()
        var isChanged = false
        // One response at a time, so that other threads do not wait for all of them.
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

    /// Called with the lock and the records' lock held.
    private func nextEarly() -> EarlyCookies.Receipt? {
        let receipt = early.takeFirst()
        if early.isEmpty { hasEarly.store(false, ordering: .releasing) }
        return receipt
    }

    static var now: Double { Date().timeIntervalSince1970 }
}

/// The interface for the loader of storages that are not subclasses.
extension HTTPCookieStorage {
    /// Before the first load, on a thread that may wait for the disk.
    func prepare() { records.prepare() }

    /// Whether the cookies of a request are available without blocking on the disk, so on a loop.
    /// What comes after cookies that wait has to wait behind them.
    func isLoaded(for request: CookieRequest) -> Bool {
        !hasEarly.load(ordering: .acquiring) && areSuffixesLoaded(for: request) && records.isLoaded
    }

    private func areSuffixesLoaded(for request: CookieRequest) -> Bool {
        if case .web(let document) = request.document, !suffixes.isLoaded(for: document.host) { return false }
        return suffixes.isLoaded(for: request.url.host)
    }

    /// Calls when the cookies are available, at once or on another thread. After the suffix list is read, the pending
    /// cookies of responses are in the jar.
    func whenLoaded(for request: CookieRequest, _ body: @escaping @Sendable () -> Void) {
        if !hasEarly.load(ordering: .acquiring), areSuffixesLoaded(for: request) {
            records.whenLoaded(body)
        } else {
            whenAllLoaded { [self] in
                // The transfer may be pending or running on another thread.
                takeEarly()
                body()
            }
        }
    }

    /// Calls when file and suffix list are read, in the order of the calls.
    private func whenAllLoaded(_ body: @escaping @Sendable () -> Void) {
        suffixes.whenLoaded { [records] in records.whenLoaded(body) }
    }

    /// Whether the storage is empty; nil if that is not known without blocking.
    var isEmptyIfLoaded: Bool? {
        hasEarly.load(ordering: .acquiring) ? nil : records.readIfLoaded { $0.isEmpty }
    }

    /// The value of the `Cookie` field of a request, or nil without cookies.
    func field(for request: CookieRequest) -> String? {
        Cookie.field(records.read { $0.cookies(for: request, at: Self.now) })
    }

    /// The cookies of its site that a request does not carry, and why.
    func excludedCookies(for request: CookieRequest) -> [(cookie: Cookie, exclusion: CookieExclusion)] {
        records.read { $0.excludedCookies(for: request, at: Self.now) }
    }

    /// Applies the `Set-Cookie` fields of a response. True after a change: then the caller must post the notification.
    ///
    /// - Parameter note: Gets the outcome of each field, with the storage's lock held.
    func receive(
        _ fields: [String], from request: CookieRequest, policy: CookieAcceptPolicy,
        note: ((CookieOutcome) -> Void)? = nil
    ) -> Bool {
        let now = Self.now
        let policy = policy.combined(with: CookieAcceptPolicy(cookieAcceptPolicy))
        return records.change { jar, changes in
            jar.receive(fields, from: request, policy: policy, at: now, &changes, note: note)
        }
    }

    /// Applies the fields when that is possible without blocking, and posts the notification. Other accesses that may
    /// block see the result.
    func receiveWhenLoaded(_ fields: [String], from request: CookieRequest, policy: CookieAcceptPolicy) {
        // The current policy, like the time of the response.
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

    /// The number of pending fields.
    var earlyFieldCount: Int { lock.withLock { early.fieldCount } }

    /// Calls `done` when all persistent cookies so far have been written, or writing has failed. Does not block.
    package func flush(_ done: @escaping @Sendable () -> Void) {
        guard hasEarly.load(ordering: .acquiring) else { return records.flush(done) }
        whenAllLoaded { [self] in
            takeEarly()
            records.flush(done)
        }
    }

    /// Observers are not called on the storage's thread, because they may block on a thread that waits for it.
    func announceChangeLater() { Self.announcements.async { [self] in announceChange() } }

    private static let announcements = DispatchQueue(label: "url-cookies")

    /// Posts the notification. Runs the program's code.
    func announceChange() {
        NotificationCenter.default.post(name: .NSHTTPCookieManagerCookiesChanged, object: self)
    }
}

private typealias CookieChange = RecordChange<Cookie>

extension CookieOutcome {
    /// Adds changes for the file. False without a change.
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
            // The file may contain it although the memory does not.
            changes.append(.removed(identity))
            return false
        case .refused: return false
        }
    }
}

extension CookieJar {
    /// Applies the fields of a response. False without a change.
    fileprivate mutating func receive(
        _ fields: [String], from request: CookieRequest, policy: CookieAcceptPolicy, at now: Double,
        _ changes: inout [CookieChange], note: ((CookieOutcome) -> Void)? = nil
    ) -> Bool {
        var isChanged = false
        for field in fields {
            let outcome = receive(field, from: request, policy: policy, at: now)
            note?(outcome)
            if outcome.isAdded(to: &changes) { isChanged = true }
        }
        return isChanged
    }
}

extension CookieJar: RecordMemory {
    func persistent(at now: Double) -> [Cookie] { all(at: now).filter { $0.expires != nil } }

    mutating func replacePersistent(with records: [Cookie], at now: Double) -> [RecordChange<Cookie>] {
        zip(records, replaceExpiring(with: records, at: now)).flatMap { cookie, outcome -> [CookieChange] in
            switch outcome {
            case .stored(_, let evicted): evicted.map { .removed($0) }
            case .nothing, .refused, .removed: [.removed(cookie.identity)]
            }
        }
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
    /// The cookies for a task's request.
    @_disfavoredOverload
    public func cookies(for task: URLSessionTask) async -> [HTTPCookie]? {
        await firstAnswer { getCookiesFor(task, completionHandler: $0) }
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

extension HTTPCookie {
    /// Which cookies of responses a storage accepts.
    @frozen public enum AcceptPolicy: UInt, Sendable {
        /// All.
        case always = 0
        /// None.
        case never = 1
        /// Cookies of the main document's domain.
        case onlyFromMainDocumentDomain = 2
    }
}
