internal import LoadingSemantics

extension NSURLRequest {
    /// How a load may use stored responses. The rules of each case are those of RFC 9111 with Apple's reading of them.
    public enum CachePolicy: UInt, Sendable {
        /// What the protocol says: a fresh response is served from the cache, a stale one is validated first.
        case useProtocolCachePolicy = 0
        /// No lookup; the response may still be stored.
        case reloadIgnoringLocalCacheData = 1
        /// Anything stored, whatever its age; the network only when nothing is stored.
        case returnCacheDataElseLoad = 2
        /// Anything stored, whatever its age; an error, and no network, when nothing is stored.
        case returnCacheDataDontLoad = 3
        /// No lookup here, and caches on the way are asked not to answer either.
        case reloadIgnoringLocalAndRemoteCacheData = 4
        /// A stored response only after the origin has confirmed it.
        case reloadRevalidatingCacheData = 5

        /// The older name of ``reloadIgnoringLocalCacheData``.
        public static var reloadIgnoringCacheData: CachePolicy { .reloadIgnoringLocalCacheData }
    }
}

extension CachePolicy {
    /// Nil for a policy that does not exist.
    init?(_ policy: NSURLRequest.CachePolicy) { self.init(rawValue: UInt8(truncatingIfNeeded: policy.rawValue)) }
}
