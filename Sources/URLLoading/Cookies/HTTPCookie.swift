public import Foundation
internal import LoadingSemantics

/// A cookie. Immutable and thread-safe.
open class HTTPCookie: NSObject, @unchecked Sendable {
    // Sendable: constants only.
    private let values: Values
    /// The request whose response set the cookie, if any. Storage rules depend on it.
    final let origin: CookieRequest?

    struct Values: Hashable {
        var version: Int
        var name: String
        var value: String
        var expires: Date?
        var isSessionOnly: Bool
        var domain: String
        var path: String
        var isSecure: Bool
        var isHTTPOnly: Bool
        var comment: String?
        var commentURL: URL?
        var ports: [Int]?
        var sameSite: HTTPCookieStringPolicy?
        var setByJavaScript: String?
        var created: Date
    }

    /// A cookie from a response or a storage.
    init(_ cookie: Cookie, from origin: CookieRequest? = nil) {
        values = Values(cookie)
        self.origin = origin
    }

    /// Creates a cookie from properties. Nil if name, value, path, or both domain and origin URL are missing or
    /// malformed.
    public init?(properties: [HTTPCookiePropertyKey: Any]) {
        guard let name = Self.text(properties[.name]), Self.isName(name), let value = Self.text(properties[.value]),
            let path = Self.text(properties[.path]), Self.isText(value)
        else { return nil }
        let given = Self.text(properties[.domain])
        // A cookie with an empty domain is a value, though no request carries it.
        guard let domain = given?.isEmpty == false ? given : Self.url(properties[.originURL])?.host ?? given else {
            return nil
        }

        origin = nil
        let version = Self.text(properties[.version]).flatMap { Int($0) } == 1 ? 1 : 0
        let created = (properties[.created] as? Date)?.ifFinite ?? Date()
        var expires: Date?
        if version == 0 {
            expires = (properties[.expires] as? Date)?.ifFinite ?? Self.text(properties[.expires]).flatMap(Self.date)
        } else {
            let age = Self.text(properties[.maximumAge]).flatMap { Double($0) }
            expires = age.flatMap { created.addingTimeInterval($0).ifFinite }
        }
        let isSessionOnly =
            switch Self.text(properties[.discard]) {
            case "TRUE": true
            case "FALSE": false
            default: expires == nil
            }
        if isSessionOnly { expires = nil }

        var ports = Self.text(properties[.port]).map { $0.split(separator: ",").compactMap { Int($0) } }
        if version == 0 { ports = ports.map { Array($0.prefix(1)) } }
        values = Values(
            version: version, name: name, value: value, expires: expires, isSessionOnly: isSessionOnly,
            domain: domain.lowercased(), path: path, isSecure: properties[.secure] != nil,
            isHTTPOnly: properties[.httpOnly].map(Self.isMeant) ?? false, comment: Self.text(properties[.comment]),
            commentURL: Self.url(properties[.commentURL]), ports: ports?.isEmpty == true ? nil : ports,
            sameSite: (properties[.sameSitePolicy] as? HTTPCookieStringPolicy)
                ?? Self.text(properties[.sameSitePolicy]).flatMap(Self.policy),
            setByJavaScript: Self.text(properties[.setByJavaScript]),
            created: created)
    }

    /// All properties of the cookie. A cookie created from them is equal.
    open var properties: [HTTPCookiePropertyKey: Any]? {
        var properties: [HTTPCookiePropertyKey: Any] = [
            .name: values.name, .value: values.value, .domain: values.domain, .path: values.path,
            .version: String(values.version), .created: values.created,
        ]
        if let expires = values.expires {
            properties[.expires] = expires
            if values.version == 1 { properties[.maximumAge] = String(expires.timeIntervalSince(values.created)) }
        }
        if values.isSessionOnly {
            properties[.discard] = "TRUE"
        } else if values.expires == nil {
            properties[.discard] = "FALSE"
        }
        if values.isSecure { properties[.secure] = "TRUE" }
        if values.isHTTPOnly { properties[.httpOnly] = "TRUE" }
        properties[.comment] = values.comment
        properties[.commentURL] = values.commentURL
        properties[.port] = values.ports.map { $0.map { String($0) }.joined(separator: ",") }
        properties[.sameSitePolicy] = values.sameSite?.rawValue
        properties[.setByJavaScript] = values.setByJavaScript
        return properties
    }

    /// The version: 0, which is in common use, or 1.
    open var version: Int { values.version }
    /// The name.
    open var name: String { values.name }
    /// The value.
    open var value: String { values.value }
    /// The expiry date, or nil for a session cookie.
    open var expiresDate: Date? { values.expires }
    /// Whether this is a session cookie: according to `Discard`, otherwise if there is no expiry.
    open var isSessionOnly: Bool { values.isSessionOnly }
    /// The domain in lower case. With a leading dot the cookie is also sent to subdomains, otherwise to this host only.
    open var domain: String { values.domain }
    /// The path prefix of URLs to which the cookie is sent.
    open var path: String { values.path }
    /// Whether the cookie is sent over secure connections only.
    open var isSecure: Bool { values.isSecure }
    /// Whether the cookie is hidden from scripts.
    open var isHTTPOnly: Bool { values.isHTTPOnly }
    /// A comment about the purpose of the cookie.
    open var comment: String? { values.comment }
    /// A URL with a description of the purpose.
    open var commentURL: URL? { values.commentURL }
    /// The ports to which the cookie is sent, or nil for all.
    open var portList: [NSNumber]? { values.ports.map { $0.map { NSNumber(value: $0) } } }
    /// The SameSite policy: whether cross-site requests have the cookie; nil if unspecified.
    open var sameSitePolicy: HTTPCookieStringPolicy? { values.sameSite }

    final var setByJavaScript: String? { values.setByJavaScript }

    /// The creation time, which orders cookies with paths of equal length.
    package final var created: Date { values.created }

    /// The header field for these cookies, in order: `["Cookie": "a=b; c=d"]`; empty without cookies.
    open class func requestHeaderFields(with cookies: [HTTPCookie]) -> [String: String] {
        if cookies.isEmpty { return [:] }
        return ["Cookie": cookies.map { "\($0.name)=\($0.value)" }.joined(separator: "; ")]
    }

    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? HTTPCookie else { return false }
        return other === self || other.identity == identity
    }

    open override var hash: Int { identity.hashValue }

    /// The properties that determine equality: all except the creation time.
    private var identity: Values {
        var identity = values
        identity.created = .distantPast
        // A storage uses seconds since 1970, which have less precision than a date.
        identity.expires =
            values.version == 1 ? nil : values.expires.map { Date(timeIntervalSince1970: $0.timeIntervalSince1970) }
        return identity
    }

    /// Without the value, which may be secret.
    open override var description: String {
        "<\(type(of: self)): \(name) \(domain)\(path)\(isSecure ? " secure" : "")"
            + "\((expiresDate?.ifFinite).map { " expires \($0)" } ?? "")>"
    }

    /// Whether the name can be sent: it is not blank, and does not end before its end.
    private static func isName(_ name: String) -> Bool {
        isText(name) && !name.utf8.contains(UInt8(ascii: "=")) && !name.utf8.contains(0x09)
            && !name.utf8.allSatisfy { $0 == 0x20 }
    }

    /// Control characters end the Cookie field, or make it invalid (RFC 6265bis §5.5). A semicolon begins another
    /// cookie.
    private static func isText(_ text: String) -> Bool {
        text.utf8.allSatisfy { ($0 >= 0x20 || $0 == 0x09) && $0 != 0x7F && $0 != UInt8(ascii: ";") }
    }

    private static func text(_ value: Any?) -> String? {
        if let text = value as? String { return text }
        if let text = value as? any StringProtocol { return String(text) }
        return (value as? NSNumber)?.stringValue
    }

    private static func date(_ text: String) -> Date? {
        CookieDate.parse(text).map { Date(timeIntervalSince1970: Double($0)) }
    }

    private static func url(_ value: Any?) -> URL? {
        value as? URL ?? text(value).flatMap { URL(string: $0) }
    }

    /// `HttpOnly` is set by any value except a false one.
    private static func isMeant(_ value: Any) -> Bool {
        (value as? Bool) ?? text(value).map { !["", "FALSE", "NO", "0"].contains($0.uppercased()) } ?? true
    }

    private static func policy(_ text: String) -> HTTPCookieStringPolicy? {
        let policy = HTTPCookieStringPolicy(rawValue: text.lowercased())
        return policy == .sameSiteLax || policy == .sameSiteStrict ? policy : nil
    }
}

extension Date {
    /// Nil for dates that are not finite. Foundation crashes when it formats these.
    var ifFinite: Date? { timeIntervalSinceReferenceDate.isFinite ? self : nil }
}

/// The SameSite policy of a cookie.
public struct HTTPCookieStringPolicy: RawRepresentable, Hashable, Sendable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    /// Cross-site requests have the cookie only in top-level navigation.
    public static let sameSiteLax = HTTPCookieStringPolicy(rawValue: "lax")
    /// Cross-site requests never have the cookie.
    public static let sameSiteStrict = HTTPCookieStringPolicy(rawValue: "strict")
}
