/// The result of storing a cookie, for a copy of the jar on disk to follow.
package enum CookieOutcome: Sendable, Equatable {
    /// The cookie is stored, and replaces the one with its identity. The `evicted` cookies were removed to make room.
    case stored(Cookie, evicted: [CookieIdentity])
    /// The cookie had expired, by which a server deletes it. The stored one was removed.
    case removed(CookieIdentity)
    /// The cookie had expired, and none was stored. The copy may still contain one that the jar has not read.
    case nothing(CookieIdentity)
    case refused(CookieRefusal)
}
