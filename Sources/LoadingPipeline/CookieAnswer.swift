/// What the client says when it is asked for the cookies of a request.
package enum CookieAnswer {
    /// The value of the `Cookie` field, or nil if there are none.
    case now(String?)
    /// By `load.provideCookies`.
    case later
}
