public import Foundation
internal import LoadingEvents
internal import LoadingSemantics
internal import LoadingStorage

/// Keeps responses to GET requests and their bodies. May be used from any thread.
///
/// Responses are kept in memory and on disk, each up to a number of bytes; when there is no room, the one used least recently
/// leaves. Small bodies lie in an SQLite file, larger ones in files of their own, in a folder that only this user may read.
/// Several processes, and several caches of one process, may share a folder. What is damaged, and what cannot be written,
/// is as good as not stored, and standard error says so once. Methods that look at the disk wait for it.
///
/// A subclass may keep responses elsewhere; the loader goes through the methods that take a task.
open class URLCache: NSObject, @unchecked Sendable {
    // Sendable: all that varies is behind the lock.
    private let lock = Lock()
    /// Guarded by `lock`.
    private var memory: ResponseMemory
    /// Guarded by `lock`.
    private var diskLimit: Int
    /// Guarded by `lock`. Nil as long as there is nothing to do for it.
    private var disk: ResponseDisk?
    /// Guarded by `lock`. The addresses that are being looked for on disk.
    private var lookups: [String: Lookups] = [:]
    /// Nil for the usual place.
    private let directory: StorageDirectory?

    private struct Lookups {
        var count = 0
        /// Something else was stored since, or it was removed: what is found is not to go to memory any more.
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
            // The old one is let go after the lock.
            var new: URLCache? = new
            lock.withLock { swap(&cache, &new) }
        }
    }

    /// The cache of the process: 4 MiB of memory and 20 MiB of disk, unless set. Configurations made later use the
    /// cache that is set then.
    open class var shared: URLCache {
        get { sharedCache.get() }
        set { sharedCache.set(newValue) }
    }

    /// A cache.
    ///
    /// - Parameters:
    ///   - memoryCapacity: bytes; 0 keeps nothing in memory.
    ///   - diskCapacity: bytes; 0 writes nothing.
    ///   - directoryURL: the folder to keep what goes to disk in, which is made if need be; nil, and what is no file
    ///     URL, is the usual place, under `$XDG_CACHE_HOME` or `~/.cache`, in a folder named by the bundle's identifier or
    ///     the executable.
    public init(memoryCapacity: Int, diskCapacity: Int, directory directoryURL: URL? = nil) {
        memory = ResponseMemory(capacity: memoryCapacity)
        diskLimit = max(0, diskCapacity)
        let given = directoryURL.flatMap { $0.isFileURL ? StorageDirectory(path: $0.path) : nil }
        // Found out now, by a thread that may wait for that, and only by those who need it.
        directory = given ?? (diskCapacity > 0 ? .applicationCache : nil)
    }

    /// A cache in a directory given as a path. One that is not absolute leads from the usual place.
    @available(*, deprecated, renamed: "init(memoryCapacity:diskCapacity:directory:)")
    public init(memoryCapacity: Int, diskCapacity: Int, diskPath path: String?) {
        memory = ResponseMemory(capacity: memoryCapacity)
        diskLimit = max(0, diskCapacity)
        directory = path.map { path in
            path.hasPrefix("/") ? StorageDirectory(path: path) : StorageDirectory.applicationCache.folder(path)
        }
    }

    /// The stored response to a request, whatever its age, or nil.
    open func cachedResponse(for request: URLRequest) -> CachedURLResponse? {
        guard let key = Self.key(of: request) else { return nil }
        if let found = responseInMemory(for: key) { return found }
        guard let disk = beginLookup(of: key) else { return nil }
        return endLookup(of: key, found: disk.find(key))
    }

    /// Stores a response in place of an older one to the same address. Does nothing if the request is no GET or the
    /// response's storage policy forbids it.
    open func storeCachedResponse(_ cachedResponse: CachedURLResponse, for request: URLRequest) {
        guard cachedResponse.storagePolicy != .notAllowed, let key = Self.key(of: request) else { return }
        let tiers: CacheEntryLimits.Tiers = cachedResponse.storagePolicy == .allowed ? [.memory, .disk] : .memory
        store(cachedResponse, for: key, in: tiers)
    }

    /// Removes the stored response to a request.
    open func removeCachedResponse(for request: URLRequest) {
        guard let key = Self.key(of: request) else { return }
        remove([key])
    }

    /// Removes everything.
    open func removeAllCachedResponses() {
        change { $0.removeAll() }?.removeAll()
    }

    /// Removes what was stored at or after that time.
    open func removeCachedResponses(since date: Date) {
        change { $0.removeAll(since: date) }?.removeAll(since: date)
    }

    /// Stores the response to a task. What the loader calls.
    open func storeCachedResponse(_ cachedResponse: CachedURLResponse, for dataTask: URLSessionDataTask) {
        guard let request = dataTask.currentRequest else { return }
        storeCachedResponse(cachedResponse, for: request)
    }

    /// Finds the stored response to a task's request. What the loader calls. The handler is called at once, on the
    /// caller's thread; a subclass may call it later, from any thread.
    @preconcurrency open func getCachedResponse(
        for dataTask: URLSessionDataTask, completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
        completionHandler(dataTask.currentRequest.flatMap { cachedResponse(for: $0) })
    }

    /// Removes the stored response to a task's request. What the loader calls.
    open func removeCachedResponse(for dataTask: URLSessionDataTask) {
        guard let request = dataTask.currentRequest else { return }
        removeCachedResponse(for: request)
    }

    /// How many bytes may be kept in memory. Lowering it drops what no longer fits, at once.
    open var memoryCapacity: Int {
        get { lock.withLock { memory.capacity } }
        set { _ = change([]) { $0.capacity = max(0, newValue) } }
    }

    /// How many bytes may be kept on disk. Lowering it drops what no longer fits, at once.
    open var diskCapacity: Int {
        get { lock.withLock { diskLimit } }
        set {
            let capacity = max(0, newValue)
            let disk = lock.withLock {
                // What is there already has to fit too, if this is the first that is heard of it.
                let disk = diskLimit > capacity ? openDisk() : self.disk
                diskLimit = capacity
                return disk
            }
            disk?.setCapacity { [self] in lock.withLock { diskLimit } }
        }
    }

    /// How many bytes are kept in memory.
    open var currentMemoryUsage: Int { lock.withLock { memory.size } }

    /// How many bytes are kept on disk, by all who share the folder.
    open var currentDiskUsage: Int { lock.withLock { openDisk() }?.usage ?? 0 }

    /// What tells responses apart: the address without its fragment, and the cookie jar. Only a GET has one.
    private static func key(of request: URLRequest) -> CacheKey? {
        guard request.method == "GET", let url = request.url else { return nil }
        let address = url.absoluteString
        if let target = try? HTTPURL(address),
            let key = CacheKey(url: target, partition: request.cookiePartitionIdentifier)
        {
            return key
        }
        let bare = address.utf8.firstIndex(of: UInt8(ascii: "#")).map { String(address[..<$0]) } ?? address
        // It is written to the disk, where no password is to be.
        return CacheKey(address: URLReference.withoutPassword(bare), partition: request.cookiePartitionIdentifier)
    }
}

// MARK: The two tiers

extension URLCache {
    /// The tier on disk, unless it has no room. With the lock held.
    private func openDisk() -> ResponseDisk? {
        if diskLimit == 0 { return nil }
        if let disk { return disk }
        let new = ResponseDisk(in: directory ?? .applicationCache, capacity: diskLimit)
        disk = new
        return new
    }

    /// Changes what is in memory, and gives the tier on disk for the same. What leaves is let go after the lock, for its end
    /// may call the cache.
    ///
    /// - Parameter keys: Whose responses it changes; nil if it may be any.
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

    private func store(_ response: CachedURLResponse, for key: CacheKey, in tiers: CacheEntryLimits.Tiers) {
        let now = Date()
        // The properties of a subclass are the caller's code, and not to be asked under the lock.
        let size = ResponseMemory.size(of: response, key: key.text)
        let disk = change([key]) { memory in
            if tiers.contains(.memory) {
                memory.store(response, for: key.text, size: size, at: now)
            } else {
                memory.remove(key.text)
            }
        }
        // What is there is older, in any case.
        if tiers.contains(.disk) { disk?.store(response, for: key, at: now) } else { disk?.remove([key]) }
    }

    /// The disk on which to look for what is not in memory; nil if it cannot be there. Whoever looks says what was found.
    func beginLookup(of key: CacheKey) -> ResponseDisk? {
        guard let disk = lock.withLock({ openDisk() }), disk.mayHoldAnything else { return nil }
        lock.withLock { lookups[key.text, default: Lookups()].count += 1 }
        return disk
    }

    /// What was found is in memory from now on.
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

/// What the loader asks of a cache that is no subclass.
extension URLCache {
    func responseInMemory(for key: CacheKey) -> CachedURLResponse? {
        lock.withLock { memory.response(for: key.text) }
    }

    /// Looks for what is not in memory.
    ///
    /// - Parameter disk: What `beginLookup` gave.
    func lookUp(_ key: CacheKey, on disk: ResponseDisk, _ answer: @escaping @Sendable (CachedURLResponse?) -> Void) {
        disk.find(key) { [self] found in answer(endLookup(of: key, found: found)) }
    }

    /// Stores what was loaded, in the tiers that have room for so much (CACHE-4). What it is to replace goes in any case.
    func store(_ response: CachedURLResponse, for key: CacheKey) {
        let allowed: CacheEntryLimits.Tiers =
            switch response.storagePolicy {
            case .allowed: [.memory, .disk]
            case .allowedInMemoryOnly: .memory
            case .notAllowed: []
            }
        let tiers = room.tiers(for: Int64(response.data.count), allowed: allowed)
        if tiers.isEmpty { remove([key]) } else { store(response, for: key, in: tiers) }
    }

    /// The same for a response to any request.
    func storeLoaded(_ response: CachedURLResponse, for request: URLRequest) {
        if let key = Self.key(of: request) { store(response, for: key) }
    }

    /// Puts a response in the place of one with the same body that is still the same: what was removed or stored meanwhile
    /// stays so.
    func replace(_ old: CachedURLResponse, with new: CachedURLResponse, for key: CacheKey) {
        let now = Date()
        let size = ResponseMemory.size(of: new, key: key.text)
        let disk = change([key]) { memory in
            if memory.response(for: key.text) === old { memory.store(new, for: key.text, size: size, at: now) }
        }
        disk?.replaceHead(of: old, with: new, for: key)
    }

    func remove(_ keys: [CacheKey]) {
        change(keys) { memory in for key in keys { memory.remove(key.text) } }?.remove(keys)
    }

    /// Calls when the disk has all that it is to have, or cannot have it.
    func flush(_ done: @escaping @Sendable () -> Void) {
        guard let disk = lock.withLock({ disk }) else { return done() }
        disk.flush(done)
    }

    private var room: CacheEntryLimits {
        CacheEntryLimits(memoryCapacity: Int64(memoryCapacity), diskCapacity: Int64(diskCapacity))
    }

    /// The largest body that is kept, in bytes.
    var limit: Int64 { room.limit(allowed: [.memory, .disk]) }
}

extension URLCache {
    /// The stored response to a task's request.
    public func cachedResponse(for dataTask: URLSessionDataTask) async -> CachedURLResponse? {
        await withCheckedContinuation { continuation in
            getCachedResponse(for: dataTask) { continuation.resume(returning: $0) }
        }
    }
}

extension URLCache: FlushedStore {}
