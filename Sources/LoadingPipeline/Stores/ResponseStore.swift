package import FoundationEssentials
package import LoadingSemantics

/// The cached responses of a session. Called on the loop of its loads; must not block.
package protocol ResponseStore: AnyObject {
    /// What is stored for the load's request, or for the GET of its address; nil if the load uses no cache. After `.later`,
    /// `load.makeContentsLookup()` brings it, and the load waits.
    func contents(for load: HTTPLoad) -> ClientAnswer<CacheContents?>
    /// Stores a complete response, or removes the older one with nil: the client wants neither. After `.later`, the load ends
    /// with `load.finishStoring`.
    ///
    /// - Parameter client: The load's client, also when the load has ended before its client has answered.
    func store(_ entry: CacheEntry?, of load: HTTPLoad, for client: any LoadClient) -> ClientAnswer<Void>
    /// Stores a permanent redirect that the load follows.
    func store(redirect entry: CacheEntry, of load: HTTPLoad)
    /// The server has confirmed the stored response, whose head is this now.
    func update(_ entry: CacheEntry, of load: HTTPLoad)
    /// Removes what is stored for these keys.
    func remove(_ keys: [CacheKey], of load: HTTPLoad)
}

/// A response in the cache, and its body as the client gets it.
package struct CacheEntry: Sendable {
    package var response: StoredResponse
    package var body: Data
    /// The object by which the store knows it.
    package var object: (any AnyObject & Sendable)?

    package init(response: StoredResponse, body: Data, object: (any AnyObject & Sendable)? = nil) {
        self.response = response
        self.body = body
        self.object = object
    }
}

/// What a cache has for a request, and room for.
package struct CacheContents: Sendable {
    package var entry: CacheEntry?
    /// The size of the largest body that the cache stores, in bytes.
    package var limit: Int64
    /// False if the cache may hold an older response that is not `entry` (CACHE-10).
    package var isLookedUp: Bool

    package init(entry: CacheEntry?, limit: Int64, isLookedUp: Bool = true) {
        self.entry = entry
        self.limit = limit
        self.isLookedUp = isLookedUp
    }
}
