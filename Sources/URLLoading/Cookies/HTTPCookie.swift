public import Foundation
internal import LoadingSemantics

/// One cookie. Immutable and safe to use from any thread.
open class HTTPCookie: NSObject, @unchecked Sendable {
    // Sendable: constants only.
    private let values: Values
    /// The request whose response set it, if one did: that says what it may be stored for.
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

    /// The cookie that a response sets, or that a storage keeps.
    init(_ cookie: Cookie, from origin: CookieRequest? = nil) {
        values = Values(cookie)
        self.origin = origin
    }

    /// A cookie from its properties, or nil if name, value, path, or both domain and origin are missing or malformed.
    public init?(properties: [HTTPCookiePropertyKey: Any]) {
        guard let name = Self.text(properties[.name]), !name.isEmpty, let value = Self.text(properties[.value]),
            let path = Self.text(properties[.path]),
            let domain = Self.text(properties[.domain]).flatMap({ $0.isEmpty ? nil : $0 })
                ?? Self.url(properties[.originURL])?.host,
            // What would end the header field it is sent in, or start another cookie there, is no cookie.
            (name + value).utf8.allSatisfy({ $0 >= 0x20 || $0 == 0x09 }),
            !(name + value).utf8.contains(UInt8(ascii: ";"))
        else { return nil }

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
            domain: domain.lowercased(), path: path, isSecure: properties[.secure].map(Self.isMeant) ?? false,
            isHTTPOnly: properties[.httpOnly].map(Self.isMeant) ?? false, comment: Self.text(properties[.comment]),
            commentURL: Self.url(properties[.commentURL]), ports: ports?.isEmpty == true ? nil : ports,
            sameSite: (properties[.sameSitePolicy] as? HTTPCookieStringPolicy)
                ?? Self.text(properties[.sameSitePolicy]).flatMap(Self.policy),
            setByJavaScript: Self.text(properties[.setByJavaScript]),
            created: created)
    }

    /// Everything the cookie holds: a cookie made from it is equal.
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

    /// 0, the kind in use, or 1.
    open var version: Int { values.version }
    /// The name.
    open var name: String { values.name }
    /// The value.
    open var value: String { values.value }
    /// When the cookie ends, or nil if it ends with the session.
    open var expiresDate: Date? { values.expires }
    /// Whether the cookie ends with the session: as `Discard` says, and where that says nothing, if there is no other end.
    open var isSessionOnly: Bool { values.isSessionOnly }
    /// The domain, in lower case. With a leading dot subdomains get the cookie too, else only this host.
    open var domain: String { values.domain }
    /// The path under which the cookie is sent.
    open var path: String { values.path }
    /// Whether the cookie is sent over secure channels only.
    open var isSecure: Bool { values.isSecure }
    /// Whether scripts are kept from reading the cookie.
    open var isHTTPOnly: Bool { values.isHTTPOnly }
    /// What the cookie is for.
    open var comment: String? { values.comment }
    /// Where that is told.
    open var commentURL: URL? { values.commentURL }
    /// The ports the cookie is for, or nil for any.
    open var portList: [NSNumber]? { values.ports.map { $0.map { NSNumber(value: $0) } } }
    /// Whether requests that start at another site carry the cookie; nil if it does not say.
    open var sameSitePolicy: HTTPCookieStringPolicy? { values.sameSite }

    final var setByJavaScript: String? { values.setByJavaScript }

    /// When the cookie was made, which decides the order of those with paths of one length.
    package final var created: Date { values.created }

    /// The header field that carries these cookies, in their order: `["Cookie": "a=b; c=d"]`, or empty without any.
    open class func requestHeaderFields(with cookies: [HTTPCookie]) -> [String: String] {
        if cookies.isEmpty { return [:] }
        return ["Cookie": cookies.map { "\($0.name)=\($0.value)" }.joined(separator: "; ")]
    }

    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? HTTPCookie else { return false }
        return other === self || other.identity == identity
    }

    open override var hash: Int { identity.hashValue }

    /// What two equal cookies have in common: everything but the time of making.
    private var identity: Values {
        var identity = values
        identity.created = .distantPast
        // A storage counts from 1970, where the last bits of a date have no room.
        identity.expires =
            values.version == 1 ? nil : values.expires.map { Date(timeIntervalSince1970: $0.timeIntervalSince1970) }
        return identity
    }

    /// Without the value, which may be a secret.
    open override var description: String {
        "<\(type(of: self)): \(name) \(domain)\(path)\(isSecure ? " secure" : "")"
            + "\((expiresDate?.ifFinite).map { " expires \($0)" } ?? "")>"
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

    /// A flag is set by any value but a false one.
    private static func isMeant(_ value: Any) -> Bool {
        (value as? Bool) ?? text(value).map { !["", "FALSE", "NO", "0"].contains($0.uppercased()) } ?? true
    }

    private static func policy(_ text: String) -> HTTPCookieStringPolicy? {
        let policy = HTTPCookieStringPolicy(rawValue: text.lowercased())
        return policy == .sameSiteLax || policy == .sameSiteStrict ? policy : nil
    }
}

extension Date {
    /// Nil for what is no time, which Foundation does not survive being asked to describe.
    var ifFinite: Date? { timeIntervalSinceReferenceDate.isFinite ? self : nil }
}
