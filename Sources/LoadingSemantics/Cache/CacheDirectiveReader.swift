/// Parses the directives of one `Cache-Control` line (RFC 9111 §5.2), in linear time.
///
/// A malformed item does not affect others: an unterminated quoted string ends at the next comma, so it cannot hide
/// later directives. Valid as long as the bytes: strings would cost more than all the rest of a lookup in the cache.
struct CacheDirectiveReader {
    struct Directive {
        enum Argument {
            case none
            /// A token, or a quoted string without quotes and escapes.
            case text(ArraySlice<UInt8>)
            case malformed
        }

        fileprivate let name: UnsafeBufferPointer<UInt8>
        let argument: Argument

        /// - Parameter other: In lower case.
        @inline(__always)
        func isNamed(_ other: StaticString) -> Bool {
            guard name.count == other.utf8CodeUnitCount else { return false }
            for index in name.indices where asciiLowercase(name[index]) != other.utf8Start[index] { return false }
            return true
        }
    }

    private let bytes: UnsafeBufferPointer<UInt8>
    private var offset = 0

    init(_ value: UnsafeBufferPointer<UInt8>) { bytes = value }

    mutating func next() -> Directive? {
        while skipSeparators() {
            let name = token()
            if name.isEmpty {
                skipItem()
                continue
            }
            var argument = Directive.Argument.none
            if current == UInt8(ascii: "=") {
                offset += 1
                argument = self.argument()
            }
            skipWhitespace()
            if !isAtItemEnd {
                argument = .malformed
                skipItem()
            }
            return Directive(name: name, argument: argument)
        }
        return nil
    }

    private var current: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    private var isAtItemEnd: Bool { current == nil || current == UInt8(ascii: ",") }

    private mutating func skipWhitespace() {
        while let byte = current, OptionalWhitespace.contains(byte) { offset += 1 }
    }

    /// Returns false at the end of the line.
    private mutating func skipSeparators() -> Bool {
        while let byte = current, OptionalWhitespace.contains(byte) || byte == UInt8(ascii: ",") { offset += 1 }
        return current != nil
    }

    private mutating func skipItem() {
        while !isAtItemEnd { offset += 1 }
    }

    private mutating func token() -> UnsafeBufferPointer<UInt8> {
        let start = offset
        while let byte = current, Self.isToken(byte) { offset += 1 }
        return UnsafeBufferPointer(rebasing: bytes[start..<offset])
    }

    private mutating func argument() -> Directive.Argument {
        guard current == UInt8(ascii: "\"") else {
            let token = token()
            return token.isEmpty ? .malformed : .text(ArraySlice(token))
        }
        offset += 1
        let start = offset
        var text: [UInt8] = []
        while var byte = current {
            offset += 1
            if byte == UInt8(ascii: "\"") { return .text(text[...]) }
            if byte == UInt8(ascii: "\\"), let escaped = current {
                byte = escaped
                offset += 1
            }
            text.append(byte)
        }
        offset = start
        skipItem()
        return .malformed
    }

    /// RFC 9110 §5.6.2
    private static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"), UInt8(ascii: "&"),
            UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "^"), UInt8(ascii: "_"), UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
            true
        default: false
        }
    }
}
