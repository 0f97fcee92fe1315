/// The cookies of a session. Called on the loop of its loads; must not block.
package protocol CookieStore: AnyObject {
    /// The value of the `Cookie` field of the load's request; nil without cookies. After `.later`, the load waits for
    /// `load.makeCookieLookup()`.
    func cookies(for load: HTTPLoad) -> ClientAnswer<String?>
    /// The response to the load's request has these `Set-Cookie` fields.
    func receive(_ fields: [String], for load: HTTPLoad)
}
