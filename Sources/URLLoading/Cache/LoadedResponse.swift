internal import LoadingEvents
internal import LoadingPipeline
internal import LoadingSemantics

/// The response that the loader gives to a subclass of `URLCache`, while it calls it. The subclass may store another
/// one in its place, which is then known to answer the same request.
struct LoadedResponse: Sendable {
    let response: CachedURLResponse
    private let key: CacheKey?
    let changeCount: UInt64

    /// - Parameter changeCount: See `CacheContents`.
    init(_ response: CachedURLResponse, of load: HTTPLoad, since changeCount: UInt64) {
        self.response = response
        key = load.request.cacheKey
        self.changeCount = changeCount
    }

    /// A call of the subclass. A task that the subclass starts inherits the task-local value, but not the response.
    private final class Call: @unchecked Sendable {
        // Sendable because of the lock.
        private let lock = Lock()
        private var loaded: LoadedResponse?

        init(_ loaded: LoadedResponse) { self.loaded = loaded }

        var current: LoadedResponse? { lock.withLock { loaded } }

        func end() {
            // Its deinit may be the program's code.
            let last = lock.withLock {
                defer { loaded = nil }
                return loaded
            }
            withExtendedLifetime(last) {}
        }
    }

    @TaskLocal private static var call: Call?

    /// That of the current call, if it is for the key.
    static func current(for key: CacheKey) -> LoadedResponse? {
        guard let loaded = call?.current, loaded.key == key else { return nil }
        return loaded
    }

    /// Calls the subclass. What it removes during the call makes room for this response.
    ///
    /// - Parameter remove: Called instead if the stored response was removed since the load began, because this one may
    ///   be older. What has survived the removal is older still.
    func store(in cache: URLCache, _ body: (CachedURLResponse) -> Void, orRemove remove: () -> Void = {}) {
        if isRemoved(from: cache) { return isReplaced(in: cache) ? () : remove() }
        let call = Call(self)
        // A task-local value also applies to a thread without a task.
        Self.$call.withValue(call) { body(response) }
        call.end()
    }

    /// Whether the stored response was removed since the load began, so that this one may be older.
    func isRemoved(from cache: URLCache?) -> Bool {
        guard let key, let cache else { return false }
        return cache.wasRemoved(key, since: changeCount)
    }

    /// Whether another load has removed or replaced the stored response since this one began.
    func isOvertaken(in cache: URLCache?) -> Bool {
        guard let key, let cache else { return false }
        return cache.wasInvalidated(key, since: changeCount) || cache.wasStored(key, since: changeCount)
    }

    /// Whether another response was stored since the load began.
    func isReplaced(in cache: URLCache?) -> Bool {
        guard let key, let cache else { return false }
        return cache.wasStored(key, since: changeCount)
    }
}
