/// The name of a property in the dictionary a cookie is made from.
public struct HTTPCookiePropertyKey: RawRepresentable, Hashable, Sendable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    public init(_ rawValue: String) { self.rawValue = rawValue }

    /// The name. Needed.
    public static let name = HTTPCookiePropertyKey("Name")
    /// The value. Needed.
    public static let value = HTTPCookiePropertyKey("Value")
    /// The address that set the cookie; its host serves as domain if none is given.
    public static let originURL = HTTPCookiePropertyKey("OriginURL")
    /// "0", the default, or "1".
    public static let version = HTTPCookiePropertyKey("Version")
    /// The domain: with a leading dot for subdomains too. Needed unless there is an origin.
    public static let domain = HTTPCookiePropertyKey("Domain")
    /// The path. Needed.
    public static let path = HTTPCookiePropertyKey("Path")
    /// Whatever the value: only over secure channels.
    public static let secure = HTTPCookiePropertyKey("Secure")
    /// A `Date`, or a text of one, when a cookie of version 0 ends.
    public static let expires = HTTPCookiePropertyKey("Expires")
    /// What the cookie is for.
    public static let comment = HTTPCookiePropertyKey("Comment")
    /// Where that is told.
    public static let commentURL = HTTPCookiePropertyKey("CommentURL")
    /// "TRUE": ends with the session.
    public static let discard = HTTPCookiePropertyKey("Discard")
    /// How many seconds a cookie of version 1 lasts.
    public static let maximumAge = HTTPCookiePropertyKey("Max-Age")
    /// The ports the cookie is for, separated by commas.
    public static let port = HTTPCookiePropertyKey("Port")
    /// Whether other sites' requests carry the cookie.
    public static let sameSitePolicy = HTTPCookiePropertyKey("SameSite")
    /// A mark that a script set the cookie.
    public static let setByJavaScript = HTTPCookiePropertyKey("SetInJavaScript")

    /// When the cookie was made, a `Date`.
    static let created = HTTPCookiePropertyKey("Created")
    /// Whatever the value: hidden from scripts.
    static let httpOnly = HTTPCookiePropertyKey("HttpOnly")
}
