/// What status codes mean to the cache.
enum CacheStatus {
    /// May be stored, and its lifetime guessed, without a word from the server (RFC 9110 §15.1).
    static func isHeuristicallyCacheable(_ status: Int) -> Bool {
        switch status {
        case 200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501: true
        default: false
        }
    }

    /// The codes that this cache keeps: successes, but not parts (CACHE-3, CACHE-20), and lasting redirects.
    static func isKept(_ status: Int) -> Bool {
        switch status {
        case 206: false
        case 200...299, 301, 308: true
        default: false
        }
    }

    /// What `must-understand` asks for (RFC 9111 §5.2.2.3): those kept codes whose rules for caches are known.
    static func isUnderstood(_ status: Int) -> Bool {
        isKept(status) && isHeuristicallyCacheable(status)
    }
}
