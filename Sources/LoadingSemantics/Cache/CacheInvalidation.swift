/// What a request that may have changed something makes of what is stored (RFC 9111 §4.4, CACHE-19).
package enum CacheInvalidation {
    /// The keys whose stored responses, all variants, are removed.
    package static func keys(
        method: String, url: HTTPURL, status: Int, fields: HTTPFields, partition: String? = nil
    ) -> [CacheKey] {
        guard !RequestMethod.isSafe(method), (200...399).contains(status),
            let own = CacheKey(url: url, partition: partition)
        else { return [] }
        var keys = [own]
        let base = String(decoding: url.absoluteForm, as: UTF8.self)
        for name in ["Location", "Content-Location"] {
            // Another origin's responses are not for this server to remove.
            guard let reference = fields.firstValue(name),
                let target = RedirectRules.target(of: reference, from: base), target.isSameOrigin,
                let named = try? HTTPURL(target.url), let key = CacheKey(url: named, partition: partition)
            else { continue }
            if !keys.contains(key) { keys.append(key) }
        }
        return keys
    }
}
