package import FoundationEssentials
package import LoadingSemantics

/// The cached responses of a session. Called on the loop of its loads; must not block.
package protocol ResponseStore: AnyObject {
    /// The stored response for the load's request, or for a GET of its URL; nil if the load uses no cache. After
    /// `.later`, the load waits for `load.makeContentsLookup()`.
    func contents(for load: HTTPLoad) -> ClientAnswer<CacheContents?>
    /// Stores a complete response. Nil removes the older one: the client stores neither. After `.later`, the load
    /// ends with `load.finishStoring`.
    ///
    /// - Parameters:
    ///   - changeCount: That of the contents with which the load began. A response that was stored since is not older.
    ///   - client: The load's client, also when the load has ended before its client has answered.
    func store(
        _ entry: CacheEntry?, of load: HTTPLoad, since changeCount: UInt64, for client: any LoadClient
    ) -> ClientAnswer<Void>
    /// Stores a permanent redirect that the load follows.
    func store(redirect entry: CacheEntry, of load: HTTPLoad)
    /// The server has confirmed the stored response, which now has this head.
    func update(_ entry: CacheEntry, of load: HTTPLoad)
    /// Removes the stored responses for these keys.
    ///
    /// - Parameter changeCount: Responses that were stored since stay. Nil to remove all.
    func remove(_ keys: [CacheKey], of load: HTTPLoad, since changeCount: UInt64?)
}

/// A response in the cache, with its body as delivered to the client.
package struct CacheEntry: Sendable {
    package var response: StoredResponse
    package var body: Data
    /// The object that identifies the entry to the store.
    package var object: (any AnyObject & Sendable)?
    /// The `changeCount` of the contents with which the load began.
    package var changeCount: UInt64

    package init(
        response: StoredResponse, body: Data, object: (any AnyObject & Sendable)? = nil, changeCount: UInt64 = 0
    ) {
        self.response = response
        self.body = body
        self.object = object
        self.changeCount = changeCount
    }
}

extension CacheEntry {
    /// The length of the body, in bytes.
    var length: Int64 { Int64(body.count) }

    /// A 206 with those bytes, which are within the body.
    func part(_ bytes: ClosedRange<Int64>) -> CacheEntry {
        var part = self
        part.response.status = 206
        let start = body.startIndex + Int(bytes.lowerBound)
        // Not a slice, whose indices do not begin at 0, and which would keep the whole body in memory.
        part.body = body.subdata(in: start..<start + bytes.count)
        return part
    }
}

/// The stored response for a request, and the size limit of the cache.
package struct CacheContents: Sendable {
    package var entry: CacheEntry?
    /// The size of the largest body that the cache stores, in bytes.
    package var limit: Int64
    /// False if the cache may hold an older response that is not `entry` (CACHE-10).
    package var isLookedUp: Bool
    /// `CacheChanges.count` before the request is sent.
    package var changeCount: UInt64

    package init(entry: CacheEntry?, limit: Int64, isLookedUp: Bool = true, changeCount: UInt64 = 0) {
        self.entry = entry
        self.limit = limit
        self.isLookedUp = isLookedUp
        self.changeCount = changeCount
    }
}
