/// What tells stored responses apart: the address of a GET without user-info and fragment, and the cookie jar
/// (CACHE-19).
package struct CacheKey: Sendable, Hashable {
    /// One line.
    package let text: String
    /// Without the jar.
    package var address: String { String(text.prefix { $0 != " " }) }

    /// Nil for what is never stored: other methods, and other schemes than http and https (CACHE-1).
    package init?(method: String, url: HTTPURL, partition: String? = nil) {
        guard method == "GET" else { return nil }
        self.init(url: url, partition: partition)
    }

    /// The key of what a GET of that address would have brought.
    package init?(url: HTTPURL, partition: String? = nil) {
        guard url.scheme == .http || url.scheme == .https else { return nil }
        let address = String(decoding: url.absoluteForm, as: UTF8.self)
        self.init(address: address, partition: partition)
    }

    /// The key of an address of any scheme, which has neither a fragment nor a space: what a program has stored itself.
    package init(address: String, partition: String?) {
        text = partition.map { address + " " + $0 } ?? address
    }
}
