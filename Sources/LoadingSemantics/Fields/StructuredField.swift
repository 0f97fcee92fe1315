/// Parses structured fields (RFC 9651) as far as this library needs them: integers and booleans. Other types are
/// validated and skipped, so that an unknown member does not hide known ones.
package enum StructuredField {
    package enum Value: Sendable, Equatable {
        case integer(Int64)
        case boolean(Bool)
        /// A decimal, string, token, byte sequence, date, display string or inner list.
        case other
    }

    /// Parses an Item field (§3.3). Returns nil if it is malformed.
    package static func item(_ text: String) -> Value? {
        var reader = Reader(text)
        reader.skipSpaces()
        guard let value = reader.item() else { return nil }
        reader.skipSpaces()
        return reader.isAtEnd ? value : nil
    }

    /// Parses a Dictionary field (§3.2). The last of duplicate keys applies. Returns nil if the field is malformed.
    package static func dictionary(_ text: String) -> [String: Value]? {
        var reader = Reader(text)
        reader.skipSpaces()
        var result: [String: Value] = [:]
        while !reader.isAtEnd {
            guard let key = reader.key() else { return nil }
            if reader.take("=") {
                guard let value = reader.member() else { return nil }
                result[key] = value
            } else {
                guard reader.skipParameters() else { return nil }
                result[key] = .boolean(true)
            }
            reader.skipWhitespace()
            if reader.isAtEnd { return result }
            guard reader.take(",") else { return nil }
            reader.skipWhitespace()
            if reader.isAtEnd { return nil }
        }
        return result
    }

    private struct Reader {
        private var rest: Substring.UTF8View

        init(_ text: String) {
            rest = text[...].utf8
        }

        var isAtEnd: Bool { rest.isEmpty }

        mutating func skipSpaces() {
            rest = rest.drop { $0 == 0x20 }
        }

        mutating func skipWhitespace() {
            rest = rest.drop { $0 == 0x20 || $0 == 0x09 }
        }

        mutating func take(_ character: Unicode.Scalar) -> Bool {
            guard rest.first == UInt8(ascii: character) else { return false }
            rest.removeFirst()
            return true
        }

        mutating func key() -> String? {
            guard let first = rest.first, Self.isLower(first) || first == UInt8(ascii: "*") else { return nil }
            let key = rest.prefix { byte in
                Self.isLower(byte) || Self.isDigit(byte) || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
                    || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "*")
            }
            rest = rest[key.endIndex...]
            return String(Substring(key))
        }

        /// An item or an inner list.
        mutating func member() -> Value? {
            guard take("(") else { return item() }
            while true {
                skipSpaces()
                if take(")") { return skipParameters() ? .other : nil }
                guard item() != nil, let next = rest.first, next == 0x20 || next == UInt8(ascii: ")") else {
                    return nil
                }
            }
        }

        mutating func item() -> Value? {
            guard let value = bareItem(), skipParameters() else { return nil }
            return value
        }

        mutating func skipParameters() -> Bool {
            while take(";") {
                skipSpaces()
                guard key() != nil else { return false }
                if take("="), bareItem() == nil { return false }
            }
            return true
        }

        private mutating func bareItem() -> Value? {
            guard let first = rest.first else { return nil }
            switch first {
            case UInt8(ascii: "-"), 0x30...0x39:
                return number()
            case UInt8(ascii: "?"):
                rest.removeFirst()
                if take("1") { return .boolean(true) }
                return take("0") ? .boolean(false) : nil
            case UInt8(ascii: "\""):
                return string()
            case UInt8(ascii: ":"):
                rest.removeFirst()
                rest = rest.drop { byte in
                    Self.isAlphanumeric(byte) || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "/")
                        || byte == UInt8(ascii: "=")
                }
                return take(":") ? .other : nil
            case UInt8(ascii: "@"):
                rest.removeFirst()
                guard case .integer = number() else { return nil }
                return .other
            case UInt8(ascii: "%"):
                rest.removeFirst()
                guard rest.first == UInt8(ascii: "\"") else { return nil }
                return string()
            case UInt8(ascii: "*"), 0x41...0x5A, 0x61...0x7A:
                rest = rest.drop { Self.isTokenCharacter($0) }
                return .other
            default:
                return nil
            }
        }

        /// At most 15 digits, or 12 digits and 3 after the decimal point (§4.2.4).
        private mutating func number() -> Value? {
            let isNegative = take("-")
            let digits = rest.prefix(while: Self.isDigit)
            rest = rest[digits.endIndex...]
            guard (1...15).contains(digits.count) else { return nil }
            if take(".") {
                let fraction = rest.prefix(while: Self.isDigit)
                rest = rest[fraction.endIndex...]
                return digits.count <= 12 && (1...3).contains(fraction.count) ? .other : nil
            }
            let magnitude = digits.reduce(0 as Int64) { $0 * 10 + Int64($1 - 0x30) }
            return .integer(isNegative ? -magnitude : magnitude)
        }

        private mutating func string() -> Value? {
            rest.removeFirst()
            while let byte = rest.popFirst() {
                switch byte {
                case UInt8(ascii: "\""):
                    return .other
                case UInt8(ascii: "\\"):
                    guard let escaped = rest.popFirst(),
                        escaped == UInt8(ascii: "\"") || escaped == UInt8(ascii: "\\")
                    else { return nil }
                case 0x20...0x7E:
                    continue
                default:
                    return nil
                }
            }
            return nil
        }

        private static func isLower(_ byte: UInt8) -> Bool { byte &- 0x61 < 26 }
        private static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }
        private static func isAlphanumeric(_ byte: UInt8) -> Bool {
            asciiLowercase(byte) &- 0x61 < 26 || isDigit(byte)
        }
        private static func isTokenCharacter(_ byte: UInt8) -> Bool {
            isAlphanumeric(byte) || tokenMarks.contains(byte)
        }
        private static let tokenMarks = Array("!#$%&'*+-.^_`|~:/".utf8)
    }
}
