/// Reads DER (X.690 §10): tags of one octet, and lengths that are definite and as short as they can be. Nothing in a
/// certificate's own grammar needs more.
struct DERReader {
    /// What was not read yet.
    private(set) var rest: ArraySlice<UInt8>

    init(_ octets: ArraySlice<UInt8>) { rest = octets }

    /// Universal tags, and those of context: `explicit` ones are constructed, `implicit` ones are those of primitive types.
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

    /// The next element, whatever it is; nil at the end, and where the octets are no DER.
    mutating func next() -> Element? {
        let start = rest.startIndex
        guard rest.count >= 2 else { return nil }
        let (tag, first) = (rest[start], rest[start + 1])
        guard tag & 0x1F != 0x1F else { return nil }
        var length = Int(first)
        var content = rest.dropFirst(2)
        if first >= 0x80 {
            let count = Int(first & 0x7F)
            // Four octets hold the length of whatever is in memory here.
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

    /// The content of the next element, if it has this tag and is DER. Else nothing is read.
    mutating func take(_ tag: UInt8) -> ArraySlice<UInt8>? {
        guard rest.first == tag else { return nil }
        return next()?.content
    }

    /// The same for an element that has others in it.
    mutating func enter(_ tag: UInt8 = Tag.sequence) -> DERReader? { take(tag).map { DERReader($0) } }

    /// Reads an element that may be missing. False if it is there and `read` comes to nothing.
    mutating func takeIfPresent(_ tag: UInt8, _ read: (ArraySlice<UInt8>) -> Bool) -> Bool {
        guard rest.first == tag else { return true }
        return take(tag).map(read) ?? false
    }

    /// Reads each element up to the end. False if there is none, or one that is not as it should be.
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

    /// Whether an INTEGER is one from 0 to 2³²−1, in as few octets as will do.
    static func isCount(_ content: ArraySlice<UInt8>) -> Bool {
        guard let first = content.first, first < 0x80, content.count <= (first == 0 ? 5 : 4) else { return false }
        return first != 0 || content.count == 1 || content[content.startIndex + 1] >= 0x80
    }

    /// Whether a BIT STRING says how many bits of its last octet do not count.
    static func isBitString(_ content: ArraySlice<UInt8>) -> Bool {
        guard let unused = content.first else { return false }
        return unused < (content.count == 1 ? 1 : 8)
    }
}
