/// Cache rules by status code.
enum CacheStatus {
    /// Heuristically cacheable: may be stored without explicit directives (RFC 9110 §15.1).
    static func isHeuristicallyCacheable(_ status: Int) -> Bool {
        switch status {
        case 200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501: true
        default: false
        }
    }

    /// The status codes that this cache stores: successes except 206 (CACHE-3, CACHE-20), and permanent redirects
    ///
    static func isKept(_ status: Int) -> Bool {
        switch status {
        case 206: false
        case 200...299, 301, 308: true
        default: false
        }
    }

    /// The status codes whose caching requirements are implemented, for `must-understand` (RFC 9111 §5.2.2.3).
    static func isUnderstood(_ status: Int) -> Bool {
        isKept(status) && isHeuristicallyCacheable(status)
    }
}
