/// Whether requests that start at another site carry a cookie.
public struct HTTPCookieStringPolicy: RawRepresentable, Hashable, Sendable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    /// Only when the user follows a link there.
    public static let sameSiteLax = HTTPCookieStringPolicy(rawValue: "lax")
    /// Never.
    public static let sameSiteStrict = HTTPCookieStringPolicy(rawValue: "strict")
}
