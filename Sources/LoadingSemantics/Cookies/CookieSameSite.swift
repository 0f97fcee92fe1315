/// The cross-site requests that carry a cookie (RFC 6265bis §5.6.7).
package enum CookieSameSite: UInt8, Sendable {
    /// The attribute is absent or unknown. Treated as `none`, as on Apple platforms (COOK-7).
    case unspecified
    /// All.
    case none
    /// Only top-level navigations with a safe method.
    case lax
    /// None of them.
    case strict
}
