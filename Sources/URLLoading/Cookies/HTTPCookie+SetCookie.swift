public import Foundation
internal import LoadingSemantics

extension HTTPCookie {
    /// The cookies in the `Set-Cookie` fields of a response.
    ///
    /// Several fields may be joined by commas: a comma that is followed by a token and "=" begins the next cookie. A
    /// cookie without a path gets "/", one without a domain the URL's host. The storage decides whether the URL may set
    /// a cookie.
    public class func cookies(withResponseHeaderFields headerFields: [String: String], for URL: URL) -> [HTTPCookie] {
        headerFields.filter { isSameFieldName($0.key, "Set-Cookie") }
            .sorted { $0.key < $1.key }
            .flatMap { CombinedSetCookies.split($0.value) }
            .compactMap { cookie(fromSetCookie: $0, for: URL) }
    }

    private static func cookie(fromSetCookie field: Substring, for url: URL) -> HTTPCookie? {
        let parts = field.split(separator: ";", omittingEmptySubsequences: false)
        guard let pair = parts.first, let equals = pair.firstIndex(of: "=") else { return nil }
        var properties: [HTTPCookiePropertyKey: Any] = [
            .name: pair[..<equals].trimmed,
            .value: pair[pair.index(after: equals)...].trimmed,
            .path: "/",
            .originURL: url,
        ]
        for part in parts.dropFirst() {
            let equals = part.firstIndex(of: "=")
            let name = part[..<(equals ?? part.endIndex)].trimmed.lowercased()
            let value = equals.map { part[part.index(after: $0)...].trimmed }
            set(name, value, in: &properties)
        }
        return HTTPCookie(properties: properties)
    }

    /// Applies one attribute. Unknown attributes, and those that lack a required value or have an unexpected one, are
    /// ignored.
    private static func set(_ name: String, _ value: String?, in properties: inout [HTTPCookiePropertyKey: Any]) {
        switch (name, value) {
        case ("secure", nil): properties[.secure] = "TRUE"
        case ("httponly", nil): properties[.httpOnly] = "TRUE"
        case ("discard", nil): properties[.discard] = "TRUE"
        case ("domain", let value?) where !value.isEmpty: properties[.domain] = cookieDomain(value)
        case ("path", let value?): properties[.path] = value.hasPrefix("/") ? value : "/"
        // Max-Age takes precedence over Expires, in any order (RFC 6265 §5.3).
        case ("expires", let value?) where properties[.maximumAge] == nil: properties[.expires] = value
        case ("max-age", let value?):
            let (digits, isNegative) = (value.drop { $0 == "-" }, value.hasPrefix("-"))
            guard value.count - digits.count == (isNegative ? 1 : 0), !digits.isEmpty,
                digits.utf8.allSatisfy({ $0 &- 0x30 < 10 })
            else { return }
            // Any number of digits is valid (RFC 6265 §5.2.2).
            let seconds = Int(value) ?? (isNegative ? 0 : .max)
            properties[.maximumAge] = value
            properties[.expires] = Date(timeIntervalSinceNow: Double(max(seconds, 0)))
        case ("version", let value?): properties[.version] = value
        case ("comment", let value?): properties[.comment] = value
        case ("commenturl", let value?): properties[.commentURL] = value
        case ("port", let value?): properties[.port] = value.filter { $0 != "\"" }
        case ("samesite", let value?): properties[.sameSitePolicy] = value
        default: break
        }
    }

    /// A domain from a response includes its subdomains, so it gets a leading dot, unless it is an IP address.
    private static func cookieDomain(_ value: String) -> String {
        let domain = value.lowercased()
        return domain.hasPrefix(".") || CookieDomain.isAddress(domain) ? domain : "." + domain
    }
}

extension Substring {
    /// The text without surrounding white space.
    fileprivate var trimmed: String {
        let isBlank = { (character: Character) in character == " " || character == "\t" || character.isNewline }
        var text = drop(while: isBlank)
        while let last = text.last, isBlank(last) { text.removeLast() }
        return String(text)
    }
}
