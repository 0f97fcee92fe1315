/// What became of a cookie that was given to a jar, and what a copy of the jar on disk has to follow.
package enum CookieOutcome: Sendable, Equatable {
    /// It is in the jar, in the place of the one with its identity if there was one. Others had to go.
    case stored(Cookie, evicted: [CookieIdentity])
    /// It had ended already: a server's way to remove the one that was there.
    case removed(CookieIdentity)
    /// It had ended already, and there was none in the jar. A copy may have one that the jar has not heard of.
    case nothing(CookieIdentity)
    case refused(CookieRefusal)
}
