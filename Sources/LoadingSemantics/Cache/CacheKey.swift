/// The key of a stored response: the URL of a GET without userinfo and fragment, and the cookie jar (CACHE-19).
package struct CacheKey: Sendable, Hashable {
    /// On one line: the URL, and after a space the partition.
    package let text: String
    /// The URL without the partition.
    package var address: String { String(text.prefix { $0 != " " }) }

    /// Whether a response to such a request may be stored and has a key (CACHE-1).
    package static func exists(method: String, url: HTTPURL) -> Bool {
        method == "GET" && url.scheme.isHTTP
    }

    /// The key of a GET of that URL; nil for schemes that are not cacheable (CACHE-1).
    package init?(url: HTTPURL, partition: String? = nil) {
        guard url.scheme.isHTTP else { return nil }
        self.init(address: url.absoluteText, partition: partition)
    }

    /// A key that was stored.
    package init(archived text: String) { self.text = text }

    /// The key of a response that the application stores itself. The URL may have any scheme; it has no fragment and no
    /// space.
    package init(address: String, partition: String?) {
        text = partition.map { address + " " + $0 } ?? address
    }
}
