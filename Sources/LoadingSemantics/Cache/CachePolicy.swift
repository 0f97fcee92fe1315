/// How a load may use stored responses, as a session or a request asks for it.
package enum CachePolicy: UInt8, Sendable, CaseIterable {
    /// What the protocol says: fresh responses are served, stale ones are validated first.
    case useProtocolCachePolicy
    /// No lookup; what comes may be stored (CACHE-10).
    case reloadIgnoringLocalCacheData
    /// Anything stored, whatever its age and directives; else the network (CACHE-8).
    case returnCacheDataElseLoad
    /// Anything stored, whatever its age and directives; else an error (CACHE-8, CACHE-9).
    case returnCacheDataDontLoad
    /// No lookup, and none in the caches on the way (CACHE-11).
    case reloadIgnoringLocalAndRemoteCacheData
    /// A stored response only after the origin has confirmed it (CACHE-12).
    case reloadRevalidatingCacheData

    /// The policy of a load whose request has set one of its own, or none (C-4, C-5).
    ///
    /// More restrictive than what a request asks for is only a session that forbids the network, as it may forbid
    /// cellular networks: all other policies say what is preferred, and the request knows that better.
    package static func effective(request: CachePolicy?, session: CachePolicy) -> CachePolicy {
        if session == .returnCacheDataDontLoad { return session }
        return request ?? session
    }

    /// Whether nobody even looks for what is stored.
    package var ignoresStored: Bool {
        self == .reloadIgnoringLocalCacheData || self == .reloadIgnoringLocalAndRemoteCacheData
    }

    var returnsAnythingStored: Bool { self == .returnCacheDataElseLoad || self == .returnCacheDataDontLoad }
}
