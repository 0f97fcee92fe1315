/// Comparison and validation of cookie strings: by octet, with ASCII case folding.
enum CookieText {
    /// A control character other than tab (RFC 6265bis §5.6 step 1).
    @inline(__always)
    static func isControl(_ byte: UInt8) -> Bool { byte < 0x20 && byte != 0x09 || byte == 0x7F }

    /// Whether a name or value can be part of a `Cookie` field without ending it or starting another cookie.
    static func isSendable(_ text: String) -> Bool {
        !text.utf8.contains { isControl($0) || $0 == UInt8(ascii: ";") }
    }

    static func lowercased(_ text: some StringProtocol) -> String {
        guard text.utf8.contains(where: { $0 &- 0x41 < 26 }) else { return String(text) }
        return String(decoding: text.utf8.map(asciiLowercase), as: UTF8.self)
    }

    /// Whether two strings have the same octets. `==` alone compares by canonical equivalence.
    static func areSame(_ left: String, _ right: String) -> Bool {
        left == right && left.utf8.elementsEqual(right.utf8)
    }

    /// Calls `body` with the octets of both strings.
    @inline(__always)
    static func compare(
        _ left: String, _ right: String, _ body: (UnsafeBufferPointer<UInt8>, UnsafeBufferPointer<UInt8>) -> Bool
    ) -> Bool {
        var (left, right) = (left, right)
        return left.withUTF8 { left in right.withUTF8 { right in body(left, right) } }
    }

    /// Whether a string has the prefix, case-insensitively. The prefix is in lower case.
    static func hasPrefix(_ text: String, _ prefix: StaticString) -> Bool {
        guard text.utf8.count >= prefix.utf8CodeUnitCount else { return false }
        return prefix.withUTF8Buffer { prefix in
            zip(text.utf8, prefix).allSatisfy { asciiLowercase($0) == $1 }
        }
    }
}
