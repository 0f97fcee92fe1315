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

    @TaskLocal private static var ofThisCall: LoadedResponse?

    /// That of the current call, if it is for the key.
    static func current(for key: CacheKey) -> LoadedResponse? {
        guard let loaded = ofThisCall, loaded.key == key else { return nil }
        return loaded
    }

    /// Calls the subclass. A task-local value also applies to a thread without a task.
    func whileCurrent(_ body: () -> Void) { Self.$ofThisCall.withValue(self, operation: body) }

    /// Whether the stored response was removed since the load began, so that this one may be older.
    func isRemoved(from cache: URLCache) -> Bool { key.map { cache.wasRemoved($0, since: changeCount) } ?? false }
}
