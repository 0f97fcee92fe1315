/// Invalidation of stored responses after an unsafe request (RFC 9111 §4.4, CACHE-19).
package enum CacheInvalidation {
    /// The keys to remove, with all their variants.
    package static func keys(
        method: String, url: HTTPURL, status: Int, fields: HTTPFields, partition: String? = nil
    ) -> [CacheKey] {
        guard !RequestMethod.isSafe(method), (200...399).contains(status),
            let own = CacheKey(url: url, partition: partition)
        else { return [] }
        var keys = [own]
        let base = url.absoluteText
        for name in ["Location", "Content-Location"] {
            // URLs of other origins are not invalidated, otherwise a server could remove responses of another.
            guard let reference = fields.firstValue(name),
                let target = RedirectRules.target(of: reference, from: base), target.isSameOrigin,
                let named = try? HTTPURL(target.url), let key = CacheKey(url: named, partition: partition)
            else { continue }
            if !keys.contains(key) { keys.append(key) }
        }
        return keys
    }
}
