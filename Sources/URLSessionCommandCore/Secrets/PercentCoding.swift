/// Percent-encoding of bytes, not of strings: input from servers and users may not be UTF-8.
enum PercentCoding {
    /// Invalid escapes are left unchanged.
    static func decoded(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(bytes.count)
        var rest = bytes
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2)
            if byte == UInt8(ascii: "%"), digits.count == 2, let high = value(digits.first),
                let low = value(digits.last)
            {
                decoded.append(high << 4 | low)
                rest = rest.dropFirst(2)
            } else {
                decoded.append(byte)
            }
        }
        return decoded
    }

    static func decoded(_ text: String) -> String {
        String(decoding: decoded(Array(text.utf8)[...]), as: UTF8.self)
    }

    /// Encodes everything except ASCII letters and digits.
    static func encoded(_ bytes: [UInt8]) -> [UInt8] {
        let digits = Array("0123456789ABCDEF".utf8)
        var encoded: [UInt8] = []
        for byte in bytes {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: encoded.append(byte)
            default: encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return encoded
    }

    /// Encodes everything except the unreserved characters (RFC 3986 §2.3).
    static func encoded(_ text: String) -> String { encoded(Array(text.utf8)) }

    static func encoded(_ bytes: [UInt8]) -> String {
        encoded(bytes) { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
            default: "-._~".utf8.contains(byte)
            }
        }
    }

    static func encoded(_ bytes: [UInt8], keeping isKept: (UInt8) -> Bool) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var encoded: [UInt8] = []
        for byte in bytes {
            if isKept(byte) {
                encoded.append(byte)
            } else {
                encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    private static func value(_ digit: UInt8?) -> UInt8? {
        switch digit {
        case let digit? where 0x30...0x39 ~= digit: digit - 0x30
        case let digit? where 0x41...0x46 ~= digit: digit - 0x41 + 10
        case let digit? where 0x61...0x66 ~= digit: digit - 0x61 + 10
        default: nil
        }
    }
}
