/// Parses the directives of one `Cache-Control` line (RFC 9111 §5.2), in linear time.
///
/// A malformed item does not affect others: an unterminated quoted string ends at the next comma, so it cannot hide
/// later directives.
struct CacheDirectiveReader {
    struct Directive: Equatable {
        enum Argument: Equatable {
            case none
            /// A token, or a quoted string without quotes and escapes.
            case text([UInt8])
            case malformed
        }

        /// In lower case.
        var name: String
        var argument: Argument
    }

    private let bytes: ArraySlice<UInt8>
    private var offset: Int

    init(_ value: ArraySlice<UInt8>) {
        bytes = value
        offset = value.startIndex
    }

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
            return Directive(name: String(decoding: name.map(asciiLowercase), as: UTF8.self), argument: argument)
        }
        return nil
    }

    private var current: UInt8? { offset < bytes.endIndex ? bytes[offset] : nil }

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

    private mutating func token() -> ArraySlice<UInt8> {
        let start = offset
        while let byte = current, Self.isToken(byte) { offset += 1 }
        return bytes[start..<offset]
    }

    private mutating func argument() -> Directive.Argument {
        guard current == UInt8(ascii: "\"") else {
            let token = token()
            return token.isEmpty ? .malformed : .text(Array(token))
        }
        offset += 1
        let start = offset
        var text: [UInt8] = []
        while var byte = current {
            offset += 1
            if byte == UInt8(ascii: "\"") { return .text(text) }
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
