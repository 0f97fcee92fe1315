/// A parsed `Set-Cookie` field (RFC 6265bis §5.6). ``Cookie`` applies defaults and checks.
///
/// The last of duplicate attributes applies. Unknown attributes, and those longer than 1024 octets, are ignored.
package struct SetCookie: Sendable, Equatable {
    /// The limit for name and value together, in octets.
    package static let maximumPairLength = 4096
    /// The limit for an attribute value, in octets.
    package static let maximumAttributeLength = 1024

    /// Never empty.
    package let name: String
    package let value: String
    /// In seconds since 1970.
    package private(set) var expires: Int64?
    /// In seconds. Saturates at 64 bits.
    package private(set) var maximumAge: Int64?
    /// In lower case, without the leading dot. Empty means host-only.
    package private(set) var domain: String?
    /// Empty means the default path.
    package private(set) var path: String?
    package private(set) var isSecure = false
    package private(set) var isHTTPOnly = false
    package private(set) var isPartitioned = false
    package private(set) var sameSite = CookieSameSite.unspecified

    /// Parses the value of one field.
    package init(_ field: String) throws(CookieRefusal) {
        // Closures of the standard library do not support typed throws.
        var field = field
        var refusal = CookieRefusal.missingName
        let read = field.withUTF8 { (bytes: UnsafeBufferPointer<UInt8>) -> SetCookie? in
            do throws(CookieRefusal) {
                return try SetCookie(bytes)
            } catch {
                refusal = error
                return nil
            }
        }
        guard let read else { throw refusal }
        self = read
    }

    private init(_ field: UnsafeBufferPointer<UInt8>) throws(CookieRefusal) {
        for byte in field where CookieText.isControl(byte) { throw .badCharacter }
        var rest = field[...]
        var value = Self.cut(&rest, at: UInt8(ascii: ";"))
        // RFC 6265bis accepts cookies without a name. Apple's platforms do not, and `HTTPCookie` requires one (COOK-1).
        guard value.contains(UInt8(ascii: "=")) else { throw .missingName }
        let name = Self.trimmed(Self.cut(&value, at: UInt8(ascii: "=")))
        value = Self.trimmed(value)
        if name.isEmpty { throw .missingName }
        if name.count + value.count > Self.maximumPairLength { throw .tooLong }
        self.name = Self.text(name)
        self.value = Self.text(value)
        while !rest.isEmpty {
            var value = Self.cut(&rest, at: UInt8(ascii: ";"))
            let name = Self.cut(&value, at: UInt8(ascii: "="))
            take(Self.trimmed(name), Self.trimmed(value))
        }
    }

    private typealias Octets = Slice<UnsafeBufferPointer<UInt8>>

    private mutating func take(_ name: Octets, _ value: Octets) {
        if value.count > Self.maximumAttributeLength { return }
        if Self.isSame(name, "path") {
            path = value.first == UInt8(ascii: "/") ? Self.text(value) : ""
        } else if Self.isSame(name, "domain") {
            domain = CookieText.lowercased(Self.text(value.first == UInt8(ascii: ".") ? value.dropFirst() : value))
        } else if Self.isSame(name, "expires") {
            if let date = CookieDate.parse(Self.text(value)) { expires = date }
        } else if Self.isSame(name, "max-age") {
            if let seconds = Self.seconds(value) { maximumAge = seconds }
        } else if Self.isSame(name, "secure") {
            isSecure = true
        } else if Self.isSame(name, "httponly") {
            isHTTPOnly = true
        } else if Self.isSame(name, "partitioned") {
            isPartitioned = true
        } else if Self.isSame(name, "samesite") {
            sameSite =
                if Self.isSame(value, "none") {
                    .none
                } else if Self.isSame(value, "lax") {
                    .lax
                } else if Self.isSame(value, "strict") {
                    .strict
                } else {
                    .unspecified
                }
        }
    }

    /// Digits with an optional "-".
    private static func seconds(_ text: Octets) -> Int64? {
        let isNegative = text.first == UInt8(ascii: "-")
        let digits = text.dropFirst(isNegative ? 1 : 0)
        guard !digits.isEmpty, digits.allSatisfy({ $0 &- 0x30 < 10 }) else { return nil }
        return Int64(Self.text(text)) ?? (isNegative ? .min : .max)
    }

    /// Removes and returns the text before the separator, and removes the separator; all text if there is none.
    private static func cut(_ text: inout Octets, at separator: UInt8) -> Octets {
        let end = text.firstIndex(of: separator) ?? text.endIndex
        defer { text = text[min(end + 1, text.endIndex)...] }
        return text[..<end]
    }

    private static func trimmed(_ text: Octets) -> Octets {
        var text = text
        while let first = text.first, first == 0x20 || first == 0x09 { text.removeFirst() }
        while let last = text.last, last == 0x20 || last == 0x09 { text.removeLast() }
        return text
    }

    /// Splitting at ASCII characters keeps UTF-8 well-formed.
    private static func text(_ octets: Octets) -> String {
        String(decoding: UnsafeBufferPointer(rebasing: octets), as: UTF8.self)
    }

    /// Case-insensitive comparison. The word is in lower case.
    private static func isSame(_ text: Octets, _ word: StaticString) -> Bool {
        guard text.count == word.utf8CodeUnitCount else { return false }
        return word.withUTF8Buffer { word in
            for index in word.indices where asciiLowercase(text[text.startIndex + index]) != word[index] {
                return false
            }
            return true
        }
    }
}
