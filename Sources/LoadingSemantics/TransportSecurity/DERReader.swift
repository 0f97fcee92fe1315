/// Reads DER (X.690 §10), with single-octet tags and definite, minimal lengths, which suffices for certificates.
struct DERReader {
    /// The unread octets.
    private(set) var rest: ArraySlice<UInt8>

    init(_ octets: ArraySlice<UInt8>) { rest = octets }

    /// Universal tags, and context-specific ones: `explicit` is constructed, `implicit` is primitive.
    enum Tag {
        static let boolean: UInt8 = 0x01
        static let integer: UInt8 = 0x02
        static let bitString: UInt8 = 0x03
        static let octetString: UInt8 = 0x04
        static let objectIdentifier: UInt8 = 0x06
        static let ia5String: UInt8 = 0x16
        static let utcTime: UInt8 = 0x17
        static let generalizedTime: UInt8 = 0x18
        static let sequence: UInt8 = 0x30
        static let set: UInt8 = 0x31
        static func explicit(_ number: UInt8) -> UInt8 { 0xA0 | number }
        static func implicit(_ number: UInt8) -> UInt8 { 0x80 | number }
    }

    struct Element {
        let tag: UInt8
        let content: ArraySlice<UInt8>
    }

    var isAtEnd: Bool { rest.isEmpty }

    /// The next element with any tag. Nil at the end, and for octets that are not DER.
    mutating func next() -> Element? {
        let start = rest.startIndex
        guard rest.count >= 2 else { return nil }
        let (tag, first) = (rest[start], rest[start + 1])
        guard tag & 0x1F != 0x1F else { return nil }
        var length = Int(first)
        var content = rest.dropFirst(2)
        if first >= 0x80 {
            let count = Int(first & 0x7F)
            // Lengths of more than four octets exceed any certificate.
            guard (1...4).contains(count), content.count >= count else { return nil }
            let octets = content.prefix(count)
            guard octets[octets.startIndex] != 0 else { return nil }
            length = octets.reduce(0) { $0 << 8 | Int($1) }
            guard length >= 0x80 else { return nil }
            content = content.dropFirst(count)
        }
        guard content.count >= length else { return nil }
        rest = content.dropFirst(length)
        return Element(tag: tag, content: content.prefix(length))
    }

    /// The content of the next element if it has that tag and is DER. Otherwise nil, and nothing is read.
    mutating func take(_ tag: UInt8) -> ArraySlice<UInt8>? {
        guard rest.first == tag else { return nil }
        return next()?.content
    }

    /// The same for a constructed element.
    mutating func enter(_ tag: UInt8 = Tag.sequence) -> DERReader? { take(tag).map { DERReader($0) } }

    /// Reads an optional element. Returns false if it is present and `read` returns false.
    mutating func takeIfPresent(_ tag: UInt8, _ read: (ArraySlice<UInt8>) -> Bool) -> Bool {
        guard rest.first == tag else { return true }
        return take(tag).map(read) ?? false
    }

    /// Reads all remaining elements. Returns false if there is none, or if `read` returns false.
    mutating func takeAll(_ read: (Element) -> Bool) -> Bool {
        guard !isAtEnd else { return false }
        while !isAtEnd {
            guard let element = next(), read(element) else { return false }
        }
        return true
    }

    /// The value of a BOOLEAN (X.690 §11.1).
    static func boolean(_ content: ArraySlice<UInt8>) -> Bool? {
        guard content.count == 1, let value = content.first, value == 0 || value == 0xFF else { return nil }
        return value == 0xFF
    }

    /// Whether an INTEGER is minimal and between 0 and 2³²−1.
    static func isCount(_ content: ArraySlice<UInt8>) -> Bool {
        guard let first = content.first, first < 0x80, content.count <= (first == 0 ? 5 : 4) else { return false }
        return first != 0 || content.count == 1 || content[content.startIndex + 1] >= 0x80
    }

    /// Whether a BIT STRING has a valid count of unused bits.
    static func isBitString(_ content: ArraySlice<UInt8>) -> Bool {
        guard let unused = content.first else { return false }
        return unused < (content.count == 1 ? 1 : 8)
    }
}
