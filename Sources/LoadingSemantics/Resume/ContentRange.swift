/// The `Content-Range` of a 206 or 416 (RFC 9110 §14.4).
package struct ContentRange: Sendable, Equatable {
    /// The range of the body; nil in a 416.
    package var bytes: ClosedRange<Int64>?
    /// The length of the representation; nil if unknown.
    package var total: Int64?

    package init(bytes: ClosedRange<Int64>?, total: Int64?) {
        self.bytes = bytes
        self.total = total
    }

    /// Returns nil unless the value is a consistent byte range.
    package init?(_ value: String) {
        let words = value.utf8.split { $0 == 0x20 || $0 == 0x09 }
        guard words.count == 2, words[0].map(asciiLowercase).elementsEqual("bytes".utf8) else { return nil }
        let parts = words[1].split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        if !parts[1].elementsEqual("*".utf8) {
            guard let number = Self.number(parts[1]) else { return nil }
            total = number
        }
        if parts[0].elementsEqual("*".utf8) {
            if total == nil { return nil }
            return
        }
        let ends = parts[0].split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]), first <= last,
            total.map({ last < $0 }) ?? (last < .max)
        else { return nil }
        bytes = first...last
    }

    /// Returns nil unless the text consists of digits, for a number that fits.
    static func number(_ digits: Substring.UTF8View) -> Int64? {
        guard !digits.isEmpty, digits.allSatisfy({ $0 &- 0x30 < 10 }) else { return nil }
        return Int64(Substring(digits))
    }
}
