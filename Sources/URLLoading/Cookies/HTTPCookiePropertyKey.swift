/// A key of the properties of a cookie.
public struct HTTPCookiePropertyKey: RawRepresentable, Hashable, Sendable {
    /// The name of the property, as in `Set-Cookie` where that has it.
    public let rawValue: String

    /// A key with any name. Keys without a constant are ignored.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// A key with any name. Keys without a constant are ignored.
    public init(_ rawValue: String) { self.rawValue = rawValue }

    /// The name. Required.
    public static let name = HTTPCookiePropertyKey("Name")
    /// The value. Required.
    public static let value = HTTPCookiePropertyKey("Value")
    /// The URL that set the cookie. Its host is the default of the domain.
    public static let originURL = HTTPCookiePropertyKey("OriginURL")
    /// "0", the default, or "1".
    public static let version = HTTPCookiePropertyKey("Version")
    /// The domain; a leading dot includes subdomains. Required without an origin URL.
    public static let domain = HTTPCookiePropertyKey("Domain")
    /// The path. Required.
    public static let path = HTTPCookiePropertyKey("Path")
    /// Any value: only over secure connections.
    public static let secure = HTTPCookiePropertyKey("Secure")
    /// The expiry of a version 0 cookie, a `Date` or a string.
    public static let expires = HTTPCookiePropertyKey("Expires")
    /// A comment about the purpose of the cookie.
    public static let comment = HTTPCookiePropertyKey("Comment")
    /// A URL with a description of the purpose.
    public static let commentURL = HTTPCookiePropertyKey("CommentURL")
    /// "TRUE" for a session cookie.
    public static let discard = HTTPCookiePropertyKey("Discard")
    /// The lifetime of a version 1 cookie in seconds.
    public static let maximumAge = HTTPCookiePropertyKey("Max-Age")
    /// The ports to which the cookie is sent, separated by commas.
    public static let port = HTTPCookiePropertyKey("Port")
    /// The SameSite policy.
    public static let sameSitePolicy = HTTPCookiePropertyKey("SameSite")
    /// Marks a cookie that was set by a script.
    public static let setByJavaScript = HTTPCookiePropertyKey("SetInJavaScript")

    /// The creation time, a `Date`.
    static let created = HTTPCookiePropertyKey("Created")
    /// Any value: hidden from scripts.
    static let httpOnly = HTTPCookiePropertyKey("HttpOnly")
}
