/// Percent-encoding (RFC 3986 §2.1) of bytes.
enum PercentEncoding {
    /// The decoded bytes; nil if a "%" is not followed by two hexadecimal digits.
    static func decode(_ text: some Sequence<UInt8>) -> [UInt8]? {
        var result: [UInt8] = []
        var bytes = text.makeIterator()
        while let byte = bytes.next() {
            guard byte == UInt8(ascii: "%") else {
                result.append(byte)
                continue
            }
            guard let high = bytes.next().flatMap(hexadecimal), let low = bytes.next().flatMap(hexadecimal) else {
                return nil
            }
            result.append(high << 4 | low)
        }
        return result
    }

    /// Appends "%" and two digits.
    static func append(_ byte: UInt8, to result: inout [UInt8]) {
        result.append(UInt8(ascii: "%"))
        result.append(digit(byte >> 4))
        result.append(digit(byte & 15))
    }

    /// Encodes all bytes except those that satisfy `isPlain`.
    static func encode(_ text: some Sequence<UInt8>, unless isPlain: (UInt8) -> Bool) -> [UInt8] {
        var result: [UInt8] = []
        for byte in text {
            if isPlain(byte) { result.append(byte) } else { append(byte, to: &result) }
        }
        return result
    }

    /// Encodes what no path, query or fragment contains (RFC 3986 §3.3 to §3.5): brackets, "#", and each "%" that is
    /// not followed by two hexadecimal digits.
    static func repaired(_ component: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard component.contains(where: { isBracketOrNumberSign($0) || $0 == UInt8(ascii: "%") }) else {
            return component
        }
        var result: [UInt8] = []
        result.reserveCapacity(component.count + 8)
        for (index, byte) in zip(component.indices, component) {
            if isBracketOrNumberSign(byte) || byte == UInt8(ascii: "%") && !hasDigits(component[(index + 1)...]) {
                append(byte, to: &result)
            } else {
                result.append(byte)
            }
        }
        return result[...]
    }

    private static func isBracketOrNumberSign(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "[") || byte == UInt8(ascii: "]") || byte == UInt8(ascii: "#")
    }

    /// Whether the text begins with two hexadecimal digits.
    private static func hasDigits(_ text: ArraySlice<UInt8>) -> Bool {
        let digits = text.prefix(2)
        return digits.count == 2 && digits.allSatisfy { hexadecimal($0) != nil }
    }

    private static func hexadecimal(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x41 + 10
        case 0x61...0x66: byte - 0x61 + 10
        default: nil
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x41 + value - 10 }
}
