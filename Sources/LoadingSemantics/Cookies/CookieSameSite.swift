/// Which requests carry a cookie when they belong to a document of another site (RFC 6265bis §5.6.7).
package enum CookieSameSite: UInt8, Sendable {
    /// The cookie does not say, or says what nobody knows. Sent like `none`, as on Apple platforms (COOK-7).
    case unspecified
    /// All.
    case none
    /// Only those that open a document, with a safe method.
    case lax
    /// None of them.
    case strict
}
