/// The SameSite policy of a cookie.
public struct HTTPCookieStringPolicy: RawRepresentable, Hashable, Sendable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    /// Cross-site requests have the cookie only in top-level navigation.
    public static let sameSiteLax = HTTPCookieStringPolicy(rawValue: "lax")
    /// Cross-site requests never have the cookie.
    public static let sameSiteStrict = HTTPCookieStringPolicy(rawValue: "strict")
}
