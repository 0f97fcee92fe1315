/// What a `Set-Cookie` field says (RFC 6265bis §5.6). What that means is for ``Cookie`` to say.
///
/// Of several attributes with one name the last counts. Unknown ones, and those longer than 1024 octets, count as not
/// there.
package struct SetCookie: Sendable, Equatable {
    /// Of name and value together, in octets.
    package static let maximumPairLength = 4096
    /// Of an attribute's value, in octets.
    package static let maximumAttributeLength = 1024

    /// May be empty.
    package let name: String
    package let value: String
    /// In seconds since 1970.
    package private(set) var expires: Int64?
    /// In seconds, as near to it as 64 bits come.
    package private(set) var maximumAge: Int64?
    /// In lower case, without the leading dot; empty for the host alone.
    package private(set) var domain: String?
    /// Empty for the default path.
    package private(set) var path: String?
    package private(set) var isSecure = false
    package private(set) var isHTTPOnly = false
    package private(set) var isPartitioned = false
    package private(set) var sameSite = CookieSameSite.unspecified

    /// Reads the value of one field.
    package init(_ field: String) throws(CookieRefusal) {
        if field.utf8.contains(where: CookieText.isControl) { throw .badCharacter }
        var rest = field[...].utf8
        let pair = Self.cut(&rest, at: UInt8(ascii: ";"))
        var value = pair
        // Without "=" all is value.
        let name = pair.contains(UInt8(ascii: "=")) ? Self.cut(&value, at: UInt8(ascii: "=")) : "".utf8[...]
        self.name = Self.trimmed(name)
        self.value = Self.trimmed(value)
        if self.name.isEmpty, self.value.isEmpty { throw .empty }
        if self.name.utf8.count + self.value.utf8.count > Self.maximumPairLength { throw .tooLong }
        while !rest.isEmpty {
            var value = Self.cut(&rest, at: UInt8(ascii: ";"))
            let name = Self.cut(&value, at: UInt8(ascii: "="))
            take(Self.trimmed(name), Self.trimmed(value))
        }
    }

    private mutating func take(_ name: String, _ value: String) {
        if value.utf8.count > Self.maximumAttributeLength { return }
        switch CookieText.lowercased(name) {
        case "expires":
            if let date = CookieDate.parse(value) { expires = date }
        case "max-age":
            if let seconds = Self.seconds(value) { maximumAge = seconds }
        case "domain":
            domain = CookieText.lowercased(
                Substring(value.utf8.first == UInt8(ascii: ".") ? value.utf8.dropFirst() : value.utf8[...]))
        case "path": path = value.utf8.first == UInt8(ascii: "/") ? value : ""
        case "secure": isSecure = true
        case "httponly": isHTTPOnly = true
        case "partitioned": isPartitioned = true
        case "samesite":
            switch CookieText.lowercased(value) {
            case "none": sameSite = .none
            case "lax": sameSite = .lax
            case "strict": sameSite = .strict
            default: sameSite = .unspecified
            }
        default: break
        }
    }

    /// Digits, with "-" before them or not.
    private static func seconds(_ text: String) -> Int64? {
        let isNegative = text.utf8.first == UInt8(ascii: "-")
        let digits = text.utf8.dropFirst(isNegative ? 1 : 0)
        guard !digits.isEmpty, digits.allSatisfy({ $0 &- 0x30 < 10 }) else { return nil }
        return Int64(text) ?? (isNegative ? .min : .max)
    }

    /// Takes what comes before a separator, and the separator; all if there is none.
    private static func cut(_ text: inout Substring.UTF8View, at separator: UInt8) -> Substring.UTF8View {
        guard let end = text.firstIndex(of: separator) else {
            defer { text = text[text.endIndex...] }
            return text
        }
        defer { text = text[text.index(after: end)...] }
        return text[..<end]
    }

    private static func trimmed(_ text: Substring.UTF8View) -> String {
        var text = text.drop { $0 == 0x20 || $0 == 0x09 }
        while let last = text.last, last == 0x20 || last == 0x09 { text.removeLast() }
        return String(Substring(text))
    }
}
