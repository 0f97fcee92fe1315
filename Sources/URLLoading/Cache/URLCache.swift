public import Foundation
internal import LoadingEvents
internal import LoadingSemantics

/// Keeps responses to GET requests and their bodies. May be used from any thread.
///
/// Responses are kept in memory, up to a number of bytes; when there is no room, the one used least recently leaves.
/// The disk capacity is remembered, but nothing is written to disk: what is kept ends with the process.
///
/// A subclass may keep responses elsewhere; the loader goes through the methods that take a task.
open class URLCache: NSObject, @unchecked Sendable {
    // Sendable: all that varies is behind the lock.
    private let lock = Lock()
    /// Guarded by `lock`.
    private var memory: ResponseMemory
    /// Guarded by `lock`.
    private var diskLimit: Int

    static let standardMemoryCapacity = 4 << 20
    static let standardDiskCapacity = 20 << 20

    private static let sharedCache = SharedCache()

    private final class SharedCache: @unchecked Sendable {
        private let lock = Lock()
        /// Guarded by `lock`.
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
    ///   - diskCapacity: bytes.
    ///   - directoryURL: where to keep what goes to disk; nil is the usual place.
    public init(memoryCapacity: Int, diskCapacity: Int, directory directoryURL: URL? = nil) {
        memory = ResponseMemory(capacity: memoryCapacity)
        diskLimit = max(0, diskCapacity)
    }

    /// A cache in a directory given as a path.
    @available(*, deprecated, renamed: "init(memoryCapacity:diskCapacity:directory:)")
    public init(memoryCapacity: Int, diskCapacity: Int, diskPath path: String?) {
        memory = ResponseMemory(capacity: memoryCapacity)
        diskLimit = max(0, diskCapacity)
    }

    /// The stored response to a request, whatever its age, or nil.
    open func cachedResponse(for request: URLRequest) -> CachedURLResponse? {
        guard let key = Self.key(of: request) else { return nil }
        return lock.withLock { memory.response(for: key) }
    }

    /// Stores a response in place of an older one to the same address. Does nothing if the request is no GET or the
    /// response's storage policy forbids it.
    open func storeCachedResponse(_ cachedResponse: CachedURLResponse, for request: URLRequest) {
        guard cachedResponse.storagePolicy != .notAllowed, let key = Self.key(of: request) else { return }
        let now = Date()
        change { $0.store(cachedResponse, for: key, at: now) }
    }

    /// Removes the stored response to a request.
    open func removeCachedResponse(for request: URLRequest) {
        guard let key = Self.key(of: request) else { return }
        change { $0.remove(key) }
    }

    /// Removes everything.
    open func removeAllCachedResponses() {
        change { $0.removeAll() }
    }

    /// Removes what was stored at or after that time.
    open func removeCachedResponses(since date: Date) {
        change { $0.removeAll(since: date) }
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
        set { change { $0.capacity = max(0, newValue) } }
    }

    /// How many bytes may be kept on disk.
    open var diskCapacity: Int {
        get { lock.withLock { diskLimit } }
        set { lock.withLock { diskLimit = max(0, newValue) } }
    }

    /// How many bytes are kept in memory.
    open var currentMemoryUsage: Int { lock.withLock { memory.size } }

    /// How many bytes are kept on disk: 0.
    open var currentDiskUsage: Int { 0 }

    /// Changes what is kept. What leaves is let go after the lock, for its end may call the cache.
    private func change(_ body: (inout ResponseMemory) -> Void) {
        let departed = lock.withLock {
            body(&memory)
            return memory.takeDeparted()
        }
        withExtendedLifetime(departed) {}
    }

    /// What tells responses apart: the address without its fragment, and the cookie jar. Only a GET has one.
    private static func key(of request: URLRequest) -> String? {
        guard request.method == "GET", let url = request.url else { return nil }
        let address = url.absoluteString
        if let target = try? HTTPURL(address),
            let key = CacheKey(url: target, partition: request.cookiePartitionIdentifier)
        {
            return key.text
        }
        let bare = address.utf8.firstIndex(of: UInt8(ascii: "#")).map { String(address[..<$0]) } ?? address
        // A space cannot occur in an address.
        return request.cookiePartitionIdentifier.map { bare + " " + $0 } ?? bare
    }
}

/// What the loader asks of a cache that is no subclass.
extension URLCache {
    func response(for key: CacheKey) -> CachedURLResponse? { lock.withLock { memory.response(for: key.text) } }

    func store(_ response: CachedURLResponse, for key: CacheKey) {
        guard response.storagePolicy != .notAllowed, response.data.count <= limit else { return }
        let now = Date()
        change { $0.store(response, for: key.text, at: now) }
    }

    /// Puts a response in the place of one that is still the same: what was removed or stored meanwhile stays so.
    func replace(_ old: CachedURLResponse, with new: CachedURLResponse, for key: CacheKey) {
        let now = Date()
        change { memory in
            if memory.response(for: key.text) === old { memory.store(new, for: key.text, at: now) }
        }
    }

    func remove(_ keys: [CacheKey]) {
        change { memory in for key in keys { memory.remove(key.text) } }
    }

    /// The largest body that is kept, in bytes. Of what a subclass does with its capacities nothing is known.
    var limit: Int64 {
        CacheRoom(memoryCapacity: Int64(memoryCapacity), diskCapacity: Int64(diskCapacity))
            .limit(allowed: type(of: self) == URLCache.self ? .memory : [.memory, .disk])
    }
}

extension URLCache {
    /// The stored response to a task's request.
    public func cachedResponse(for dataTask: URLSessionDataTask) async -> CachedURLResponse? {
        await withCheckedContinuation { continuation in
            getCachedResponse(for: dataTask) { continuation.resume(returning: $0) }
        }
    }
}
