/// What the client says when it is asked what is stored for a request.
package enum CacheAnswer {
    /// There is no cache for it.
    case none
    case now(CacheContents)
    /// By `load.provideStored`.
    case later
}

/// What a cache has for a request, and room for.
package struct CacheContents {
    package var entry: CacheEntry?
    /// The largest body that it would keep, in bytes.
    package var limit: Int64

    package init(entry: CacheEntry?, limit: Int64) {
        self.entry = entry
        self.limit = limit
    }
}
