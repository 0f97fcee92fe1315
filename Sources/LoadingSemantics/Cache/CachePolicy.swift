/// `URLRequest.CachePolicy`.
package enum CachePolicy: UInt8, Sendable, CaseIterable {
    /// RFC 9111: fresh responses are served, stale ones are validated.
    case useProtocolCachePolicy
    /// No lookup. The response may be stored (CACHE-10).
    case reloadIgnoringLocalCacheData
    /// Any stored response, regardless of age and directives; otherwise a load (CACHE-8).
    case returnCacheDataElseLoad
    /// Any stored response, regardless of age and directives; otherwise an error (CACHE-8, CACHE-9).
    case returnCacheDataDontLoad
    /// No lookup, and `no-cache` for intermediate caches (CACHE-11).
    case reloadIgnoringLocalAndRemoteCacheData
    /// A stored response only after the origin has validated it (CACHE-12).
    case reloadRevalidatingCacheData

    /// The policy of a load, from its session and from its request, if that sets one (C-4, C-5).
    ///
    /// The policy of the request applies, except that a session can forbid network access. All other policies are
    /// preferences, for which the request is more specific.
    package static func effective(request: CachePolicy?, session: CachePolicy) -> CachePolicy {
        if session == .returnCacheDataDontLoad { return session }
        return request ?? session
    }

    /// Whether the policy skips the lookup.
    package var ignoresStored: Bool {
        self == .reloadIgnoringLocalCacheData || self == .reloadIgnoringLocalAndRemoteCacheData
    }

    var returnsAnythingStored: Bool { self == .returnCacheDataElseLoad || self == .returnCacheDataDontLoad }
}
