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
