/// What a cache has for a request, and room for.
package struct CacheContents {
    package var entry: CacheEntry?
    /// The largest body that it would keep, in bytes.
    package var limit: Int64

    /// False if nobody has looked: then something may be stored all the same (CACHE-10).
    package var isLookedUp: Bool

    package init(entry: CacheEntry?, limit: Int64, isLookedUp: Bool = true) {
        self.entry = entry
        self.limit = limit
        self.isLookedUp = isLookedUp
    }
}
