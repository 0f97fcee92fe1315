public import Foundation
internal import LoadingEvents
internal import LoadingSemantics
internal import LoadingStorage

/// Caches responses to GET requests. Thread-safe.
///
/// Responses are stored in memory and on disk, each with a capacity in bytes and LRU eviction. Small bodies are in an
/// SQLite file, larger ones in separate files, in a folder that only the current user can read. Several processes, and
/// several caches of one process, can share a folder. Damaged entries and failed writes count as not stored, with one
/// message on standard error. Methods that read the disk block.
///
/// A subclass can store responses elsewhere: the loader calls the methods with a task.
open class URLCache: NSObject, @unchecked Sendable {
    // Sendable: `lock` guards all mutable state. It also separates accesses, so exclusive access is not checked.
    private let lock = Lock(.middle)
    /// Guarded by `lock`.
    @exclusivity(unchecked) private var memory: ResponseMemory
    /// Guarded by `lock`.
    @exclusivity(unchecked) private var diskLimit: Int
    /// Guarded by `lock`. Nil until it is needed.
    @exclusivity(unchecked) private var disk: ResponseDisk?
    /// Guarded by `lock`. The keys that are being looked up on disk.
    @exclusivity(unchecked) private var lookups: [String: Lookups] = [:]
    /// Guarded by `lock`.
    @exclusivity(unchecked) private var changes = CacheChanges()
    /// Changed with the lock held, so that it has the order of the changes in memory.
    private let waitingStores = WaitingStores()
    /// Nil for the default directory.
    private let directory: StorageDirectory?

    private struct Lookups {
        var count = 0
        /// Whether the response was replaced or removed meanwhile. Then the result of the lookup must not be stored in
        /// memory.
        var areOutdated = false
    }

    static let standardMemoryCapacity = 4 << 20
    static let standardDiskCapacity = 20 << 20

    private static let sharedCache = SharedCache()

    private final class SharedCache: @unchecked Sendable {
        // Sendable because `cache` is guarded by `lock`.
        private let lock = Lock()
        private var cache: URLCache?

        func get() -> URLCache {
            lock.withLock {
                if let cache { return cache }
                let standard = URLCache(
                    memoryCapacity: URLCache.standardMemoryCapacity, diskCapacity: URLCache.standardDiskCapacity,
                    directory: nil)
                cache = standard
                return standard
            }
        }

        func set(_ new: URLCache) {
            // The old one is released after the lock.
            var new: URLCache? = new
            lock.withLock { swap(&cache, &new) }
        }
    }

    /// The shared cache of the process. The default has 4 MiB in memory and 20 MiB on disk. Configurations created
    /// after an assignment use the new cache.
    open class var shared: URLCache {
        get { sharedCache.get() }
        set { sharedCache.set(newValue) }
    }

    /// Creates a cache.
    ///
    /// - Parameters:
    ///   - memoryCapacity: In bytes; 0 stores nothing in memory.
    ///   - diskCapacity: In bytes; 0 stores nothing on disk.
    ///   - directoryURL: The folder on disk, created if necessary. Nil, or a URL that is not a file URL, means the
    ///     default: a folder under `$XDG_CACHE_HOME` or `~/.cache` that is named after the bundle identifier or the
    ///     executable.
    public init(memoryCapacity: Int, diskCapacity: Int, directory directoryURL: URL? = nil) {
        memory = ResponseMemory(capacity: memoryCapacity)
        diskLimit = max(0, diskCapacity)
        let given = directoryURL.flatMap { $0.isFileURL ? StorageDirectory(path: $0.path) : nil }
        // Determined here, because this thread may block, and only if needed.
        directory = given ?? (diskCapacity > 0 ? .applicationCache : nil)
    }

    /// Creates a cache with the capacities of the default shared cache, in the default directory.
    public override init() {
        memory = ResponseMemory(capacity: Self.standardMemoryCapacity)
        diskLimit = Self.standardDiskCapacity
        directory = .applicationCache
    }

    /// Creates a cache in a directory with a path. A relative path is relative to the default directory. The older form
    /// of ``init(memoryCapacity:diskCapacity:directory:)``.
    public init(memoryCapacity: Int, diskCapacity: Int, diskPath path: String?) {
        memory = ResponseMemory(capacity: memoryCapacity)
        diskLimit = max(0, diskCapacity)
        directory = path.map { path in
            path.hasPrefix("/") ? StorageDirectory(path: path) : StorageDirectory.applicationCache.folder(path)
        }
    }

    /// The cached response to a request, whatever its age, or nil.
    open func cachedResponse(for request: URLRequest) -> CachedURLResponse? {
        guard let key = Self.key(of: request) else { return nil }
        if let found = lock.withLock({ memory.response(for: key.text) }) { return found }
        // What other caches on the folder have stored a moment ago is found here.
        guard let disk = lock.withLock({ openDisk() }), disk.mayHoldAnything else { return nil }
        beginLookup(of: key)
        return endLookup(of: key, found: disk.find(key))
    }

    /// Stores a response, which replaces the one with the same URL. No effect if the method is not GET or the
    /// response's storage policy forbids it.
    open func storeCachedResponse(_ cachedResponse: CachedURLResponse, for request: URLRequest) {
        guard cachedResponse.storagePolicy != .notAllowed, let key = Self.key(of: request) else { return }
        let tiers: CacheEntryLimits.Tiers = cachedResponse.storagePolicy == .allowed ? .all : .memory
        let loaded = LoadedResponse.current(for: key)
        // An object of a subclass is stored as it is, since the program may look for it.
        let isPlain = type(of: cachedResponse) == CachedURLResponse.self
        let response = isPlain ? loaded.map { cachedResponse.withFacts(of: $0.response) } : nil
        // The loader has looked for removals before it called the subclass.
        store(
            (response ?? cachedResponse).noting(request), for: key, in: tiers, loadedSince: loaded?.changeCount,
            checksRemovals: false)
    }

    /// Removes the cached response to a request.
    open func removeCachedResponse(for request: URLRequest) {
        guard let key = Self.key(of: request) else { return }
        remove([key]) { changes in
            changes.note(removed: [key])
            return [key]
        }
    }

    /// Removes all responses.
    open func removeAllCachedResponses() {
        change { memory in
            changes.noteRemovalOfAll()
            waitingStores.removeAll()
            memory.removeAll()
        }?.removeAll()
    }

    /// Removes the responses stored at or after that time.
    open func removeCachedResponses(since date: Date) {
        change { memory in
            changes.noteRemovalOfAll()
            waitingStores.removeAll(since: date)
            memory.removeAll(since: date)
        }?.removeAll(since: date)
    }

    /// Stores the response of a task. Called by the loader.
    open func storeCachedResponse(_ cachedResponse: CachedURLResponse, for dataTask: URLSessionDataTask) {
        guard let request = dataTask.currentRequest else { return }
        storeCachedResponse(cachedResponse, for: request)
    }

    /// Passes the cached response to a task's request. Called by the loader. The handler is called at once, on the
    /// calling thread; a subclass may call it later, on any thread.
    @preconcurrency open func getCachedResponse(
        for dataTask: URLSessionDataTask, completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
        completionHandler(dataTask.currentRequest.flatMap { cachedResponse(for: $0) })
    }

    /// Removes the cached response to a task's request. Called by the loader.
    open func removeCachedResponse(for dataTask: URLSessionDataTask) {
        guard let request = dataTask.currentRequest else { return }
        removeCachedResponse(for: request)
    }

    /// The capacity in memory, in bytes. Lowering it evicts excess responses at once.
    open var memoryCapacity: Int {
        get { lock.withLock { memory.capacity } }
        set { _ = change([]) { $0.capacity = max(0, newValue) } }
    }

    /// The capacity on disk, in bytes. Lowering it evicts excess responses at once.
    open var diskCapacity: Int {
        get { lock.withLock { diskLimit } }
        set {
            let capacity = max(0, newValue)
            let disk = lock.withLock {
                // Responses that are already on disk must fit too, even if the disk tier was not used yet.
                let disk = diskLimit > capacity ? openDisk() : self.disk
                diskLimit = capacity
                return disk
            }
            disk?.setCapacity { [self] in lock.withLock { diskLimit } }
        }
    }

    /// The size of the responses in memory, in bytes.
    open var currentMemoryUsage: Int { lock.withLock { memory.size } }

    /// The size of the responses on disk, in bytes, of all caches that share the folder.
    open var currentDiskUsage: Int { lock.withLock { openDisk() }?.usage ?? 0 }

    /// The cache key: the URL without fragment, and the cookie partition. Nil for methods other than GET.
    private static func key(of request: URLRequest) -> CacheKey? {
        guard request.method == "GET", let url = request.url else { return nil }
        let address = url.absoluteString
        if let target = try? HTTPURL(address),
            let key = CacheKey(url: target, partition: request.cookiePartitionIdentifier)
        {
            return key
        }
        let bare = address.utf8.firstIndex(of: UInt8(ascii: "#")).map { String(address[..<$0]) } ?? address
        // The key is written to disk, so it must not contain a password.
        return CacheKey(address: URLReference.withoutPassword(bare), partition: request.cookiePartitionIdentifier)
    }
}

// MARK: The two tiers

extension URLCache {
    /// The disk tier, unless its capacity is 0. Called with the lock held.
    private func openDisk() -> ResponseDisk? {
        if diskLimit == 0 { return nil }
        if let disk { return disk }
        let new = ResponseDisk(in: directory ?? .applicationCache, capacity: diskLimit)
        disk = new
        return new
    }

    /// Changes the memory tier, and returns the disk tier for the same change. Evicted responses are released after the
    /// lock, because their deinit may call the cache.
    ///
    /// - Parameter keys: The keys of changed responses; nil for any.
    private func change(_ keys: [CacheKey]? = nil, _ body: (inout ResponseMemory) -> Void) -> ResponseDisk? {
        let (departed, disk) = lock.withLock {
            body(&memory)
            if !lookups.isEmpty {
                for key in keys?.map(\.text) ?? Array(lookups.keys) { lookups[key]?.areOutdated = true }
            }
            return (memory.takeDeparted(), openDisk())
        }
        withExtendedLifetime(departed) {}
        return disk
    }

    /// - Parameters:
    ///   - count: For a response from the loader: `changeCount` when its load began. It is not stored if its key was
    ///     removed since, or if a more recent response was stored since. Nil if the program stores it.
    ///   - checksRemovals: False if only removals by loads count.
    private func store(
        _ response: CachedURLResponse, for key: CacheKey, in tiers: CacheEntryLimits.Tiers,
        loadedSince count: UInt64?, checksRemovals: Bool
    ) {
        let now = Date()
        // Nil unless another response was stored during the load.
        var loaded: StoredResponse?
        var (isOutdated, removesOlder) = (false, false)
        // Set if it is to be stored on disk.
        var number: UInt64?
        // Properties of subclasses are the program's code, so they are read outside the lock.
        let size = ResponseMemory.size(of: response, key: key.text)
        let disk = change([key]) { memory in
            if let count {
                let isReplaced = changes.includeStoring(of: key, since: count)
                loaded = isReplaced ? response.recordedFacts : nil
                isOutdated =
                    checksRemovals
                    ? changes.includeRemoval(of: key, since: count)
                    : changes.includeInvalidation(of: key, since: count)
                // What has survived the removal is older than this response.
                removesOlder = isOutdated && !isReplaced
                if removesOlder {
                    waitingStores.remove([key])
                    memory.remove(key.text)
                }
                // One that waits for the disk would be overtaken by this one.
                let stored = memory.response(for: key.text) ?? waitingStores.response(for: key)
                if let loaded, let facts = stored?.recordedFacts, loaded.isOutdated(by: facts) { isOutdated = true }
            }
            if isOutdated { return }
            changes.note(stored: key)
            if tiers.contains(.disk), diskLimit > 0 {
                number = waitingStores.add(key, response, at: now)
            } else {
                waitingStores.remove([key])
            }
            if tiers.contains(.memory) {
                memory.store(response, for: key.text, size: size, at: now)
            } else {
                memory.remove(key.text)
            }
        }
        if isOutdated {
            if removesOlder { disk?.remove([key]) }
            return
        }
        if let number {
            disk?.store(response, for: key, at: now, loaded, as: number, of: waitingStores, for: self)
        } else {
            // The response on disk is older, or can be loaded again.
            disk?.remove([key])
        }
    }

    /// There is a more recent response on disk, which lookups find.
    func remove(_ response: CachedURLResponse, outdatedOnDisk key: CacheKey) {
        _ = change([]) { memory in if memory.response(for: key.text) === response { memory.remove(key.text) } }
    }

    /// Notes the lookup of a response that is not in memory. `endLookup` follows.
    private func beginLookup(of key: CacheKey) {
        lock.withLock { lookups[key.text, default: Lookups()].count += 1 }
    }

    /// Ends a lookup, and stores its result in memory.
    private func endLookup(of key: CacheKey, found: CachedURLResponse?) -> CachedURLResponse? {
        let now = Date()
        let size = found.map { ResponseMemory.size(of: $0, key: key.text) } ?? 0
        let (departed, answer) = lock.withLock {
            guard var ended = lookups[key.text] else { return ([], found) }
            ended.count -= 1
            lookups[key.text] = ended.count == 0 ? nil : ended
            let known = memory.response(for: key.text)
            if ended.areOutdated || known != nil { return ([], known) }
            if let found { memory.store(found, for: key.text, size: size, at: now) }
            return (memory.takeDeparted(), found)
        }
        withExtendedLifetime(departed) {}
        return answer
    }
}

/// The interface for the loader of caches that are not subclasses.
extension URLCache {
    /// Before the first load, on a thread that may wait for the disk.
    func prepare() { lock.withLock { openDisk() }?.prepare() }

    /// What is known of a key at once.
    enum KnownResponse {
        case found(CachedURLResponse)
        /// It can be looked up there.
        case onDisk(CacheKey, ResponseDisk)
        case none
    }

    /// The response for a key as far as it is known without waiting, `limit` and `changeCount`. An empty cache needs no
    /// key.
    func knownResponse(
        for key: @autoclosure () -> CacheKey?
    ) -> (KnownResponse, limit: Int64, changeCount: UInt64) {
        lock.lock()
        let (limit, count) = (currentLimit, changes.count)
        let isMemoryEmpty = memory.isEmpty
        let disk = openDisk()
        lock.unlock()
        let onDisk = disk?.knowledge ?? .nothing
        guard !isMemoryEmpty || onDisk != .nothing, let key = key() else { return (.none, limit, count) }
        if !isMemoryEmpty, let found = lock.withLock({ memory.response(for: key.text) }) {
            return (.found(found), limit, count)
        }
        if let disk, onDisk == .outdated || onDisk == .listed && disk.mayHold(key) {
            return (.onDisk(key, disk), limit, count)
        }
        return (.none, limit, count)
    }

    /// The limit of a plain cache. Called with the lock held.
    private var currentLimit: Int64 {
        CacheEntryLimits(memoryCapacity: Int64(memory.capacity), diskCapacity: Int64(diskLimit)).limit
    }

    /// What a load without lookup needs: `limit`, and `changeCount`.
    var beginning: (limit: Int64, changeCount: UInt64) { lock.withLock { (currentLimit, changes.count) } }

    /// The number of changes until now.
    var changeCount: UInt64 { lock.withLock { changes.count } }

    /// Whether the response for a key was removed since `changeCount` had that value.
    func wasRemoved(_ key: CacheKey, since count: UInt64) -> Bool {
        lock.withLock { changes.includeRemoval(of: key, since: count) }
    }

    /// Whether a response for a key was stored since `changeCount` had that value.
    func wasStored(_ key: CacheKey, since count: UInt64) -> Bool {
        lock.withLock { changes.includeStoring(of: key, since: count) }
    }

    /// Whether a load has removed the response for a key since `changeCount` had that value.
    func wasInvalidated(_ key: CacheKey, since count: UInt64) -> Bool {
        lock.withLock { changes.includeInvalidation(of: key, since: count) }
    }

    /// Notes the removal of responses by a load, before a subclass is called, which may store them elsewhere. Returns
    /// the noted keys: those whose response was not stored since `changeCount` had that value.
    func noteInvalidation(of keys: [CacheKey], unlessStoredSince count: UInt64?) -> [CacheKey] {
        lock.withLock {
            let outdated = changes.unstored(keys, since: count)
            changes.note(invalidated: outdated)
            return outdated
        }
    }

    /// Looks up a response that is not in memory.
    ///
    /// - Parameter disk: Of `knownResponse`.
    func lookUp(_ key: CacheKey, on disk: ResponseDisk, _ answer: @escaping @Sendable (CachedURLResponse?) -> Void) {
        beginLookup(of: key)
        disk.find(key) { [self] found in answer(endLookup(of: key, found: found)) }
    }

    /// Stores a loaded response in the tiers whose capacity allows its size (CACHE-4). The replaced response is removed
    /// in any case.
    ///
    /// - Parameter count: `changeCount` when the load began; nil for a response of a custom protocol.
    func store(_ response: CachedURLResponse, for key: CacheKey, loadedSince count: UInt64? = nil) {
        let allowed: CacheEntryLimits.Tiers =
            switch response.storagePolicy {
            case .allowed: .all
            case .allowedInMemoryOnly: .memory
            case .notAllowed: []
            }
        let tiers = room.tiers(for: Int64(response.data.count), allowed: allowed)
        if !tiers.isEmpty {
            store(response, for: key, in: tiers, loadedSince: count, checksRemovals: true)
        } else {
            invalidate([key], unlessStoredSince: count)
        }
    }

    /// Stores a response to any request.
    func storeLoaded(_ response: CachedURLResponse, for request: URLRequest) {
        if let key = Self.key(of: request) { store(response.noting(request), for: key) }
    }

    /// Replaces the metadata of a stored response. Nothing changes if it was removed or replaced meanwhile.
    func replace(_ old: CachedURLResponse, with new: CachedURLResponse, for key: CacheKey) {
        let now = Date()
        let size = ResponseMemory.size(of: new, key: key.text)
        let disk = change([key]) { memory in
            changes.note(stored: key)
            if memory.response(for: key.text) === old { memory.store(new, for: key.text, size: size, at: now) }
        }
        disk?.replaceHead(of: old, with: new, for: key)
    }

    /// Removes responses, because a load has shown that they are outdated; not those that were stored since
    /// `changeCount` had that value.
    func invalidate(_ keys: [CacheKey], unlessStoredSince count: UInt64?) {
        remove(keys) { changes in
            let outdated = changes.unstored(keys, since: count)
            changes.note(invalidated: outdated)
            return outdated
        }
    }

    /// - Parameter select: Notes the removal, and returns those of the keys that are removed.
    private func remove(_ keys: [CacheKey], _ select: (inout CacheChanges) -> [CacheKey]) {
        var removed: [CacheKey] = []
        let disk = change([]) { memory in
            removed = select(&changes)
            waitingStores.remove(removed)
            for key in removed {
                memory.remove(key.text)
                lookups[key.text]?.areOutdated = true
            }
        }
        if !removed.isEmpty { disk?.remove(removed) }
    }

    /// Calls `done` when all pending changes have been written, or writing has failed.
    func flush(_ done: @escaping @Sendable () -> Void) {
        guard let disk = lock.withLock({ disk }) else { return done() }
        disk.flush(done)
    }

    private var room: CacheEntryLimits {
        CacheEntryLimits(memoryCapacity: Int64(memoryCapacity), diskCapacity: Int64(diskCapacity))
    }

    /// The maximum size of a cached body, in bytes.
    var limit: Int64 { room.limit }
}

extension URLCache {
    /// The cached response to a task's request.
    @_disfavoredOverload
    public func cachedResponse(for dataTask: URLSessionDataTask) async -> CachedURLResponse? {
        await firstAnswer { getCachedResponse(for: dataTask, completionHandler: $0) }
    }
}

extension URLCache: FlushedStore {}

extension URLCache {
    /// Where a response may be stored.
    @frozen public enum StoragePolicy: UInt, Sendable {
        /// In memory and on disk.
        case allowed = 0
        /// In memory only.
        case allowedInMemoryOnly = 1
        /// Nowhere.
        case notAllowed = 2
    }
}
