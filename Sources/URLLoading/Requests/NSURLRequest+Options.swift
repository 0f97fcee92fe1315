internal import LoadingSemantics

extension NSURLRequest {
    /// How a load uses cached responses. Based on RFC 9111 and Apple's documentation.
    @frozen public enum CachePolicy: UInt, Sendable {
        /// As the protocol defines: a fresh response is served from the cache, a stale one is validated.
        case useProtocolCachePolicy = 0
        /// Ignores the cache for the request; the response may be stored.
        case reloadIgnoringLocalCacheData = 1
        /// Serves a cached response whatever its age, otherwise loads from the network.
        case returnCacheDataElseLoad = 2
        /// Serves a cached response whatever its age, otherwise fails without network access.
        case returnCacheDataDontLoad = 3
        /// Ignores the cache, and asks caches on the path to do so too.
        case reloadIgnoringLocalAndRemoteCacheData = 4
        /// Serves a cached response only after the origin has validated it.
        case reloadRevalidatingCacheData = 5

        /// The older name of ``reloadIgnoringLocalCacheData``.
        public static var reloadIgnoringCacheData: CachePolicy { .reloadIgnoringLocalCacheData }
    }
}

extension CachePolicy {
    /// Nil for an unknown policy.
    init?(_ policy: NSURLRequest.CachePolicy) { self.init(rawValue: UInt8(truncatingIfNeeded: policy.rawValue)) }
}

extension NSURLRequest {
    /// Whether the program or the user initiated a request.
    @frozen public enum Attribution: UInt, Sendable {
        /// The program.
        case developer = 0
        /// The user, by specifying the URL.
        case user = 1
    }
}

extension NSURLRequest {
    /// The kind of traffic of a request: a hint that may set the priority of its packets.
    @frozen public enum NetworkServiceType: UInt, Sendable {
        /// Ordinary traffic.
        case `default` = 0
        /// Control traffic of a voice-over-IP call.
        case voip = 1
        /// Video.
        case video = 2
        /// Background traffic.
        case background = 3
        /// Voice.
        case voice = 4
        /// Data that the user is waiting for.
        case responsiveData = 6
        /// Buffered audio or video.
        case avStreaming = 8
        /// Audio or video with little buffering.
        case responsiveAV = 9
        /// Call signaling.
        case callSignaling = 11
    }
}
